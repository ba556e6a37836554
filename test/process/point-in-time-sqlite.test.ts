import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test, type TestContext } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { endWith, MainProcess, runMain } from '../support/main-process.ts';
import {
  assertPrefix,
  CopiedService,
  pageBlock,
  superuser,
  typeBlock,
  Writers,
} from '../support/point-in-time.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { masterKey } from '../support/test-config.ts';

/** Litestream is a program of its own: `go install github.com/benbjohnson/litestream/cmd/litestream@v0.5.18`. */
const litestream = process.env['CHANCERY_TEST_LITESTREAM'] ?? 'litestream';
const skip = spawnSync(litestream, ['version']).status === 0 ? false : 'Litestream is not installed here';

/** The level of warnings in the log. */
const warn = 40;

const key = { CHANCERY_KEY: masterKey };

interface Stage {
  readonly data: string;
  readonly service: CopiedService;
  readonly replicator: MainProcess;
  readonly environment: { readonly DATA: string; readonly REPLICA: string; readonly PATH: string };
}

/** A service whose data directory is copied, by the commands of docs/point-in-time.md. */
async function start(t: TestContext): Promise<Stage> {
  const folder = temporaryFolder(t);
  const data = join(folder, 'data');
  const path = `${join(litestream, '..')}:${process.env['PATH'] ?? ''}`;
  const environment = { DATA: data, REPLICA: join(folder, 'replica'), PATH: path };
  await upsertSuperuser(t, data);
  const service = await CopiedService.start(t, data, { environment: key });
  writeFileSync(join(folder, 'litestream.yml'), pageBlock('yaml'));
  const command = pageBlock('sh replicate.sh').trim();
  const program = ['bash', '-c', `exec ${command}`];
  const replicator = endWith(t, new MainProcess([], environment, { program, folder }));
  await service.setUp();
  return { data, service, replicator, environment };
}

async function upsertSuperuser(t: TestContext, data: string, more: readonly string[] = []): Promise<void> {
  const { email, password } = superuser;
  const { code, stderr } = await runMain(
    t,
    ['superuser', 'upsert', email, password, '--data', data, ...more],
    key,
  );
  assert.equal(code, 0, stderr);
}

/** Restores the copy into a folder that the test removes. */
function restore(t: TestContext, { environment }: Stage, target: string): string {
  const data = mkdtempSync(join(temporaryFolder(t), 'restored-'));
  typeBlock('restore-sqlite.sh', { ...environment, DATA: data, TARGET: target });
  return data;
}

/** Resolves when the copy has so many posts of each writer, counted in all instances. */
async function waitForCopy(t: TestContext, stage: Stage, isThere: (posts: number) => boolean): Promise<void> {
  await eventually(
    'the copy',
    () => {
      const data = restore(t, stage, '');
      const posts = readdirSync(join(data, 'instances')).map((id) =>
        postsIn(join(data, 'instances', id, 'data.db')),
      );
      rmSync(data, { recursive: true });
      return posts.length > 0 && posts.every(isThere);
    },
    60_000,
  );
}

function postsIn(path: string): number {
  const database = new DatabaseSync(path, { readOnly: true });
  try {
    return Number(database.prepare('SELECT count(*) AS posts FROM posts').get()?.['posts']);
  } catch {
    // The table is not in the copy yet.
    return -1;
  } finally {
    database.close();
  }
}

test(
  'a data directory with several instances is restored from its copy after everything was killed, and webhooks go on',
  { skip },
  async (t) => {
    const stage = await start(t);
    const { data, service, replicator } = stage;
    const created = await runMain(t, ['instance', 'create', 'shop', '--data', data], key);
    assert.equal(created.code, 0, created.stderr);
    await upsertSuperuser(t, data, ['--instance', 'shop']);
    const shop = await service.of('shop');
    await shop.setUp();
    const writers = [new Writers(service, ['ann', 'bob']), new Writers(shop, ['eve'])];
    for (const each of writers) await each.waitFor(20);
    const acknowledged = new Map(writers.flatMap((each) => [...each.acknowledged]));
    await waitForCopy(t, stage, (posts) => posts > Math.max(...acknowledged.values()) * 2 + 2);
    service.receiver.mode = { kind: 'never answers' };
    const later = writers.map((each) => each.waitFor(Math.max(...each.acknowledged.values()) + 20));
    await Promise.all(later);
    replicator.kill('SIGKILL');
    await service.kill();
    await Promise.all(writers.map((each) => each.end()));
    await replicator.ended;

    const restored = restore(t, stage, '');
    const receiver = service.receiver;
    const again = await CopiedService.start(t, restored, { environment: key, receiver });
    const shopAgain = await again.of('shop');
    for (const writer of ['ann', 'bob'])
      assertPrefix(await again.numbersOf(writer), acknowledged.get(writer) ?? 0);
    assertPrefix(await shopAgain.numbersOf('eve'), acknowledged.get('eve') ?? 0);
    receiver.mode = { kind: 'ok' };
    for (const each of [again, shopAgain]) await each.webhooksGoOn();
    // Neither the copying nor the restore is noticed.
    for (const { serving } of [service, again])
      assert.deepEqual(
        serving.process.logLines().filter(({ level }) => Number(level) >= warn),
        [],
      );
  },
);

test('a data directory is restored to the moment before a mistake', { skip }, async (t) => {
  const stage = await start(t);
  const { service } = stage;
  const writers = new Writers(service, ['ann']);
  await writers.waitFor(20);
  await writers.end();
  const count = writers.acknowledged.get('ann') ?? 0;
  await waitForCopy(t, stage, (posts) => posts === count);
  const target = new Date().toISOString();
  assert.equal((await service.ask('/api/collections/posts/truncate', { method: 'DELETE' })).status, 204);
  await waitForCopy(t, stage, (posts) => posts === 0);
  await service.kill();
  const restored = restore(t, stage, target);
  assert.ok(existsSync(join(restored, 'control.db')));
  const again = await CopiedService.start(t, restored, { environment: key, receiver: service.receiver });
  assertPrefix(await again.numbersOf('ann'), count);
  await again.webhooksGoOn();
});
