// One Node process that uses agenda as its README shows.
//
//   node work.mjs fill URI COUNT                          store COUNT jobs and end
//   node work.mjs work URI [CONCURRENCY PROCESS_EVERY]    run jobs, one line "NUMBER MILLISECONDS_WAITED" for each
//   node work.mjs submit URI COUNT PER_SECOND             store jobs one by one
//
// `work` says "ready" and begins when a line comes in; its parent ends it.
import { Agenda } from 'agenda';
import { MongoBackend } from '@agendajs/mongo-backend';
import { MongoClient } from 'mongodb';

const JOB = 'poll';
const [mode, uri, first, second] = process.argv.slice(2);
const options = { backend: new MongoBackend({ address: uri }) };
if (mode === 'work' && first) {
  Object.assign(options, { maxConcurrency: Number(first), defaultConcurrency: Number(first), processEvery: second });
}
const agenda = new Agenda(options);
const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));
const modes = { fill, work, submit };
await modes[mode]();
process.exit(0);

// One job comes from agenda itself; the others are its copies, since storing them one by one takes minutes.
async function fill() {
  agenda.define(JOB, async () => {});
  await agenda.now(JOB, { number: 0, at: Date.now() });
  const client = await new MongoClient(uri).connect();
  const jobs = client.db().collection('agendaJobs');
  const { _id, ...job } = await jobs.findOne({ name: JOB });
  const copies = Array.from({ length: Number(first) - 1 }, (_, i) => ({ ...job, data: { ...job.data, number: i + 1 } }));
  while (copies.length) await jobs.insertMany(copies.splice(0, 1000));
}

async function work() {
  agenda.define(JOB, async (job) => {
    const { number, at } = job.attrs.data;
    process.stdout.write(`${number} ${Date.now() - at}\n`);
  });
  process.stdout.write('ready\n');
  await new Promise((resolve) => process.stdin.once('data', resolve));
  await agenda.start();
  await new Promise(() => {});
}

async function submit() {
  agenda.define(JOB, async () => {});
  const begun = Date.now();
  for (let number = 0; number < Number(first); number += 1) {
    await pause(Math.max(0, begun + (number * 1000) / Number(second) - Date.now()));
    await agenda.now(JOB, { number, at: Date.now() });
  }
}
