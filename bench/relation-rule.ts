import { startChild } from './support/child.ts';
import { compare } from './support/compare.ts';
import { fillTable } from './support/fill-table.ts';
import { runLoad } from './support/load.ts';
import { engineOf, floorOf, type BenchOptions } from './support/options.ts';
import { sampleCollection, sampleColumns } from './support/sample-record.ts';
import { startService, type Service } from './support/service.ts';
import { signUp, type SignedUp } from './support/sign-up.ts';

const writers = 1_000;
const teams = 100;

/**
 * How fast is a page of 30 records where a rule decides by related records which of them the caller sees? A thousand writers in a
 * hundred teams; somebody who has signed in asks for what is their own, and for what is their team's: a thousandth and a hundredth.
 */
export async function relationRule(options: BenchOptions): Promise<void> {
  const { seconds, rows } = options;
  const service = await startService(0, options);
  const asker = await makeWriters(service);
  await makeTexts(service, rows, asker);
  const path = '/api/collections/texts/records?sort=-created&perPage=30&skipTotal=1';
  const headers = { authorization: asker.token };
  for (const [what, listRule] of [
    ['list 30, rule: my own', 'writer.id = @request.auth.id'],
    ['list 30, rule: of my team', 'writer.team = @request.auth.team'],
  ] as const) {
    await service.api('/api/collections/texts', { listRule }, 'PATCH');
    const bytes = (await (await fetch(service.url + path, { headers })).text()).length;
    const bare = await startChild('bench/support/bare-server.ts', [String(bytes)], { core: 0 });
    const ours = () => runLoad({ url: service.url + path, pid: service.pid, headers, seconds });
    const ceiling = () => runLoad({ ...bare, headers, seconds });
    const floor = floorOf(options, { sqlite: 0.3, postgres: 0.2 });
    await compare({ what, engine: engineOf(options), rows, floor, ours, ceiling }, options);
    await bare.stop();
  }
  await service.stop();
}

/** Gives the one who asks: the last of the writers, in the first team. */
async function makeWriters(service: Service): Promise<SignedUp> {
  await service.api('/api/collections', { name: 'teams', fields: [{ name: 'title', type: 'text' }] });
  const team = { id: teamId('n'), title: `'Team ' || n` };
  await fillTable(service.store, 'teams', { count: teams, columns: team });
  const { id: teamsId } = await service.api('/api/collections/teams');
  // A definition of a collection has both.
  const users = (await service.api('/api/collections/users')) as {
    readonly fields: readonly unknown[];
    readonly indexes: readonly string[];
  };
  const change = {
    fields: [...users.fields, { name: 'team', type: 'relation', collectionId: teamsId, maxSelect: 1 }],
    indexes: [...users.indexes, 'CREATE INDEX idx_users_team ON users (team)'],
  };
  await service.api('/api/collections/users', change, 'PATCH');
  const columns = {
    id: writerId('n'),
    email: `'writer' || n || '@example.com'`,
    team: teamId(`1 + n % ${teams}`),
  };
  await fillTable(service.store, 'users', { count: writers - 1, columns });
  return signUp(service, { team: `${teamPrefix}${idBase + 1}` });
}

async function makeTexts(service: Service, rows: number, asker: SignedUp): Promise<void> {
  const { id: usersId } = await service.api('/api/collections/users');
  const sample = sampleCollection('texts');
  const writer = { name: 'writer', type: 'relation', collectionId: usersId, maxSelect: 1 };
  await service.api('/api/collections', {
    ...sample,
    fields: [...sample.fields, writer],
    indexes: ['CREATE INDEX idx_texts_writer ON texts (writer, created)'],
  });
  const written = `CASE n % ${writers} WHEN 0 THEN '${asker.id}' ELSE ${writerId(`n % ${writers}`)} END`;
  await fillTable(service.store, 'texts', { count: rows, columns: { ...sampleColumns, writer: written } });
}

/** Ids of fifteen characters that can be worked out on both engines: ten letters and five digits. */
const idBase = 10_000;
const teamPrefix = 'teamteamte';

function teamId(number: string): string {
  return `'${teamPrefix}' || (${idBase} + ${number})`;
}

function writerId(number: string): string {
  return `'writerwrit' || (${idBase} + ${number})`;
}
