"""The steps that advance a task: submit, poll, transfer, sweep. Each takes claimed tasks and never raises for one."""
