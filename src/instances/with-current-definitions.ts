import { OutdatedDefinitions } from '../storage/engine-errors.ts';

/** Definitions may change again during a retry, but hardly this often. */
const triesMax = 10;

/** Runs `work`, and again when it met definitions that are outdated. */
export async function withCurrentDefinitions<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof OutdatedDefinitions) || tries === triesMax) throw error;
    }
  }
}
