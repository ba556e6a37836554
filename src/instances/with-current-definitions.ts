import { OutdatedDefinitions } from '../storage/engine-errors.ts';

/** Definitions may be changed again while that is done again; nobody changes any this often. */
const triesMax = 10;

/** Does this again where it has met definitions that are no more. */
export async function withCurrentDefinitions<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof OutdatedDefinitions) || tries === triesMax) throw error;
    }
  }
}
