import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

const lookMs = 1_000;
const looksMax = 60;
/** The share of a second that a server is busy for which nobody has a question. */
const calmShare = 0.05;

/**
 * Gives back what a start has left behind, once, in the first calm second of the first minute: ten megabytes, which V8 would keep
 * for as long as nobody asks for anything. It takes up to a tenth of a second in which nobody is answered.
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
  // What this flag makes of it: only in contexts that are made while it is set.
  const collect = runInNewContext('gc') as (how: { type: 'major'; flavor: 'last-resort' }) => void;
  // What Node keeps of compiled modules is for the flags that were set when it kept them.
  setFlagsFromString('--no-expose-gc');
  // Of all kinds the one that gives pages back, those of young objects as well.
  collect({ type: 'major', flavor: 'last-resort' });
}
