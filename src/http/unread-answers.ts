import type { ServerResponse } from 'node:http';
import { httpLimits } from './http-limits.ts';
import { MemoryBudget } from './memory-budget.ts';

/** The answers of all clients that are sent and not read yet. */
export const unreadAnswers = new MemoryBudget(httpLimits.answersBytesMax);

/**
 * Counts what an answer that has just been ended leaves in memory until its client reads it. Where all of them are too much the connection
 * of the oldest is cut: its client may have five minutes for the whole answer, but not everybody's memory.
 */
export function holdUnread(response: ServerResponse, budget = unreadAnswers): void {
  const bytes = response.socket?.writableLength ?? 0;
  if (bytes <= httpLimits.smallAnswerBytesMax) return;
  const giveUp = (): void => void response.destroy();
  response.once('close', () => budget.release(giveUp));
  budget.hold(giveUp, bytes);
}
