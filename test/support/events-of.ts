import { sql } from '../../src/sql/sql.ts';
import type { TestService } from './service.ts';

export interface EventRow {
  readonly kind: string;
  readonly revision: number;
  readonly data: Record<string, unknown>;
}

/** Returns the events about a record, in order. */
export function eventsOf(service: TestService, id: string): Promise<readonly EventRow[]> {
  return service.withInstance('default', async ({ database }) => {
    const rows = await database.all(
      sql`SELECT kind, revision, body FROM ${database.names.table('$event')} WHERE record = ${id} ORDER BY position`,
    );
    return rows.map(({ kind, revision, body }) => {
      // The cast holds: bodies are webhook payloads, which have this member.
      const payload = JSON.parse(Buffer.from(body as Uint8Array).toString()) as {
        data: Record<string, unknown>;
      };
      return { kind: String(kind), revision: Number(revision), data: payload.data };
    });
  });
}
