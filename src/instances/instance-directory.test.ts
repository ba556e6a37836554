// Both engines: on PostgreSQL other nodes add instances at the same time.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '../base/clock.ts';
import { sql } from '../sql/sql.ts';
import type { DataHome } from '../storage/data-home.ts';
import type { Row } from '../storage/database.ts';
import { startService } from '../../test/support/service.ts';
import { InstanceDirectory } from './instance-directory.ts';

/** The home with a control database that counts the rows which it returns. */
function countRows(home: DataHome): { readonly home: DataHome; read: number } {
  const counted = {
    read: 0,
    home: Object.assign(Object.create(home), {
      control: Object.assign(Object.create(home.control), {
        names: home.control.names,
        get: home.control.get.bind(home.control),
        tuples: home.control.tuples.bind(home.control),
        write: home.control.write.bind(home.control),
        all: async (...statement: Parameters<typeof home.control.all>): Promise<Row[]> => {
          const rows = await home.control.all(...statement);
          counted.read += rows.length;
          return rows;
        },
      }),
    }),
  };
  return counted;
}

test('a new instance costs one row here and in every other process', async (t) => {
  const service = await startService(t);
  const { home } = service.app.data;
  for (let number = 0; number < 5; number += 1) await service.app.data.directory.create(`one${number}`, null);
  const [own, other] = [countRows(home), countRows(home)];
  const mine = await InstanceDirectory.open(own.home, systemClock);
  const others = await InstanceDirectory.open(other.home, systemClock);
  assert.deepEqual([own.read, other.read], [6, 6]);
  const entry = await mine.create('new', 'new.example.com');
  assert.equal(own.read, 7);
  await others.refresh();
  await others.refresh();
  assert.equal(other.read, 7);
  assert.deepEqual(others.all(), mine.all());
  for (const found of [others.find(entry.id), others.findBySlug('new'), others.findByHost('new.example.com')])
    assert.deepEqual(found, entry);
});

test('quotas are part of an entry in every process, and stay when an instance is suspended, deleted and restored', async (t) => {
  const service = await startService(t);
  const { home, directory } = service.app.data;
  const { id } = await directory.create('acme', null);
  const other = await InstanceDirectory.open(home, systemClock);
  assert.deepEqual(other.find(id)?.quotas, {});
  await directory.setQuotas(id, { records: 5 });
  await other.refresh();
  assert.deepEqual([directory.find(id)?.quotas, other.find(id)?.quotas], [{ records: 5 }, { records: 5 }]);
  await other.suspend(id);
  await other.delete(id);
  await assert.rejects(() => other.setQuotas(id, {}), { code: 'not_found' });
  await other.restore(id);
  assert.deepEqual(other.find(id)?.quotas, { records: 5 });
  await assert.rejects(() => other.setQuotas(id, { records: -1 }), { code: 'bad_request' });
});

test('an instance is found whose position is lower than that of one before it', async (t) => {
  const service = await startService(t);
  const { home, directory } = service.app.data;
  const table = home.control.names.table('$instance');
  const early = await directory.create('early', null);
  const late = await directory.create('late', null);
  const [row] = await home.control.tuples(sql`SELECT position FROM ${table} WHERE id = ${early.id}`);
  // As a reader sees it while the first transaction is still open.
  await home.control.write((tx) => tx.run(sql`DELETE FROM ${table} WHERE id = ${early.id}`));
  const other = await InstanceDirectory.open(home, systemClock);
  assert.deepEqual([other.find(early.id), other.find(late.id)], [undefined, late]);
  const overriding = home.control.names.isConcurrent ? sql` OVERRIDING SYSTEM VALUE` : sql``;
  await home.control.write(async (tx) => {
    await tx.run(sql`
      INSERT INTO ${table} (position, id, slug, created)${overriding} VALUES (${Number(row?.[0])}, ${early.id}, 'early', ${early.created})`);
    await tx.run(
      sql`UPDATE ${tx.names.table('$setting')} SET value = 'other' WHERE name = 'directory_version'`,
    );
  });
  await other.refresh();
  assert.deepEqual(other.find(early.id), early);
});

test('every other process sees each change of an instance by its row', async (t) => {
  const service = await startService(t);
  const { home, directory } = service.app.data;
  for (let number = 0; number < 5; number += 1) await directory.create(`one${number}`, null);
  const { id } = await directory.create('shop', 'shop.example.com');
  const other = countRows(home);
  const others = await InstanceDirectory.open(other.home, systemClock);
  const heard: boolean[] = [];
  others.onLife((changed, isActive) => {
    if (changed === id) heard.push(isActive);
  });
  const changes: readonly [
    change: () => Promise<void>,
    slug?: string,
    host?: string | null,
    state?: string,
  ][] = [
    [() => directory.rename(id, 'store'), 'store', 'shop.example.com', 'active'],
    [() => directory.setHost(id, 'store.example.com'), 'store', 'store.example.com', 'active'],
    [() => directory.setHost(id, null), 'store', null, 'active'],
    [() => directory.suspend(id), 'store', null, 'suspended'],
    [() => directory.suspend(id), 'store', null, 'suspended'],
    [() => directory.resume(id), 'store', null, 'active'],
    [() => directory.delete(id)],
    [() => directory.restore(id), 'store', null, 'active'],
  ];
  for (const [change, slug, host, state] of changes) {
    const before = other.read;
    await change();
    await others.refresh();
    assert.equal(other.read - before, 1);
    const entry = others.find(id);
    assert.deepEqual([entry?.slug, entry?.host, entry?.state], [slug, host, state]);
    assert.deepEqual(others.all(), directory.all());
    assert.equal(others.findBySlug('shop'), undefined);
    assert.equal(others.findByHost('shop.example.com')?.id, host === 'shop.example.com' ? id : undefined);
  }
  assert.deepEqual(heard, [false, true, false, true]);
});

test('slugs that are exchanged are found', async (t) => {
  const service = await startService(t);
  const { home, directory } = service.app.data;
  const [one, two] = [await directory.create('one', null), await directory.create('two', null)];
  const other = await InstanceDirectory.open(home, systemClock);
  await directory.rename(one.id, 'three');
  await directory.rename(two.id, 'one');
  await directory.rename(one.id, 'two');
  await other.refresh();
  assert.deepEqual([other.findBySlug('one')?.id, other.findBySlug('two')?.id], [two.id, one.id]);
  assert.equal(other.findBySlug('three'), undefined);
  assert.deepEqual(other.all(), directory.all());
});

test('changes of several processes at once are all seen, and each once', async (t) => {
  const service = await startService(t);
  const { home } = service.app.data;
  const open = (): Promise<InstanceDirectory> => InstanceDirectory.open(home, systemClock);
  const [one, two, reader] = [await open(), await open(), await open()];
  const entries = await Promise.all(
    Array.from({ length: 12 }, (_, at) => (at % 2 === 0 ? one : two).create(`new${at}`, null)),
  );
  await reader.refresh();
  const changes = entries.map(({ id }, at) =>
    at % 3 === 0 ? two.suspend(id) : one.rename(id, `other${at}`).then(() => two.delete(id)),
  );
  const reads = Array.from({ length: 8 }, () => reader.refresh());
  await Promise.all([...changes, ...reads]);
  await reader.refresh();
  await one.refresh();
  assert.deepEqual(reader.all(), one.all());
  assert.equal(reader.all().length, 1 + 4);
});

test('a new instance is announced to every process but the one that has created it', async (t) => {
  const { home, directory } = (await startService(t)).app.data;
  const other = await InstanceDirectory.open(home, systemClock);
  const heard: string[] = [];
  directory.onLife((id) => heard.push(`here ${id}`));
  other.onLife((id) => heard.push(`there ${id}`));
  const { id } = await directory.create('shop', null);
  await other.refresh();
  assert.deepEqual(heard, [`there ${id}`]);
});
