import type { ServerResponse } from 'node:http';
import { httpLimits } from './http-limits.ts';
import { MemoryBudget } from './memory-budget.ts';

/** The memory of answers that were sent and that their clients have not read yet, over all connections. */
export const unreadAnswers = new MemoryBudget(httpLimits.answersBytesMax);

/**
 * Counts the bytes of an answer that its client has not read yet; call it right after `end`. When the answers of all clients together
 * exceed the budget, the connection of the oldest is destroyed: a client has five minutes to read an answer, but not everybody's memory.
 */
export function holdUnread(response: ServerResponse, budget = unreadAnswers): void {
  const bytes = response.socket?.writableLength ?? 0;
  if (bytes <= httpLimits.smallAnswerBytesMax) return;
  const giveUp = (): void => void response.destroy();
  response.once('close', () => budget.release(giveUp));
  budget.hold(giveUp, bytes);
}
