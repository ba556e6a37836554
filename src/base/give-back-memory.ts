import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

const lookMs = 1_000;
const looksMax = 60;
/** Event loop utilization below which a second counts as calm: no requests are being answered. */
const calmShare = 0.05;

/**
 * Returns the memory that the start has left behind to the system, once, in the first calm second of the first minute: ten
 * megabytes that V8 would otherwise keep while the server is idle. It blocks the event loop for up to a tenth of a second.
 */
export function giveBackMemory(): void {
  let before = performance.eventLoopUtilization();
  let looks = 0;
  const timer = setInterval(() => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, before);
    before = now;
    looks += 1;
    const isCalm = utilization < calmShare;
    if (isCalm || looks === looksMax) clearInterval(timer);
    if (isCalm) collectAll();
  }, lookMs).unref();
}

function collectAll(): void {
  setFlagsFromString('--expose-gc');
  // The flag adds `gc` to contexts that are made while it is set, and `gc` has this type.
  const collect = runInNewContext('gc') as (how: { type: 'major'; flavor: 'last-resort' }) => void;
  // Node's compile cache depends on V8's flags: left on, this one would make it useless for later modules.
  setFlagsFromString('--no-expose-gc');
  // The only kind that returns pages to the system, those of the young generation as well.
  collect({ type: 'major', flavor: 'last-resort' });
}
