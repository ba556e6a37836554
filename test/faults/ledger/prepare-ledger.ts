import { randomBytes } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startApp } from '../../../src/app.ts';
import { createApiKey } from '../../../src/auth/api-keys.ts';
import { onInstance } from '../../../src/open-data-directory.ts';
import { readConfig, type Config } from '../../../src/config/config.ts';
import { createCollection } from '../../../src/definitions/change-collection.ts';
import type { Instance } from '../../../src/instances/instance.ts';
import { createEndpoint } from '../../../src/deliveries/endpoints/change-endpoint.ts';
import { makeOperatorKey } from '../../support/operator-stage.ts';
import { errorsOnly } from '../errors-only.ts';
import { noteTakeovers } from '../postgres-state.ts';
import { posts } from '../posts.ts';
import { environment } from '../prepare-instances.ts';
import type { Random } from '../random.ts';
import type { LedgerPlace } from './ledger-state.ts';
import { drawWishes, type EndpointWishes } from './endpoint-wishes.ts';
import type { EndpointStory, SpareEndpoint } from './owners.ts';
import { makeScript, scriptNames } from './receiver-scripts.ts';
import type { Receivers } from './receivers.ts';

export interface LedgerInstance {
  readonly id: string;
  readonly slug: string;
  readonly place: LedgerPlace;
  /** Of its owner. */
  readonly apiKey: string;
  readonly endpoints: Map<string, EndpointStory>;
  readonly spare: Map<string, SpareEndpoint>;
}

export interface LedgerSetting {
  readonly instances: number;
  readonly endpoints: number;
  readonly random: Random;
  readonly receivers: Receivers;
  /** URL of a database; without it a new folder is used. */
  readonly postgres: string | undefined;
}

export interface PreparedLedger {
  /** The folder, which is empty where a database is used. */
  readonly data: string;
  readonly instances: readonly LedgerInstance[];
  /** Of an operator who may read metrics. */
  readonly metricsKey: string;
}

/** Endpoints that are there to be created during the run, each instance. */
const spareCount = 2;
/** Long enough that the standard ones are not exhausted within a round, whatever their receivers do. */
const schedules = [[1, 1, 1, 2, 2, 2, 3, 3, 3, 3, 3, 3, 5, 5, 5, 5], [1, 1], [1], []] as const;
const patientShare = 0.6;

/** Makes instances with an open collection, endpoints with receivers of all kinds, and a key for their owner. */
export async function prepareLedger(setting: LedgerSetting): Promise<PreparedLedger> {
  const { postgres } = setting;
  const data = mkdtempSync(join(tmpdir(), 'chancery-ledger-'));
  const config =
    postgres === undefined
      ? readConfig({ data, port: '0', dev: true }, {})
      : readConfig({ postgres, port: '0', dev: true }, environment);
  const app = await startApp(config, { logger: errorsOnly });
  const instances: LedgerInstance[] = [];
  for (let index = 0; index < setting.instances; index += 1) {
    const slug = `ledger-${index}`;
    const entry = await app.data.directory.create(slug, null);
    const place: LedgerPlace =
      postgres === undefined
        ? { engine: 'sqlite', file: join(data, 'instances', entry.id, 'data.db') }
        : { engine: 'postgres', url: postgres, instanceId: entry.id };
    const made = await onInstance(app.data, entry, (instance) =>
      prepareInstance(instance, { slug, config, setting }),
    );
    instances.push({ id: entry.id, slug, place, ...made });
  }
  const { key: metricsKey } = await makeOperatorKey({ app }, ['metrics']);
  await app.stop();
  if (postgres !== undefined) await noteTakeovers(postgres);
  return { data, instances, metricsKey };
}

interface InstanceSetting {
  readonly slug: string;
  readonly config: Config;
  readonly setting: LedgerSetting;
}

async function prepareInstance(
  instance: Instance,
  { slug, config, setting }: InstanceSetting,
): Promise<Pick<LedgerInstance, 'apiKey' | 'endpoints' | 'spare'>> {
  const { random } = setting;
  await createCollection({ ...instance, now: instance.clock.now() }, posts);
  const keyOptions = { name: 'owner', scopes: ['webhooks:read', 'webhooks:write'] };
  const { key } = await createApiKey(instance, keyOptions, 'operator');
  const endpoints = new Map<string, EndpointStory>();
  const [first, ...others] = scriptNames;
  const left: string[] = [...others];
  for (let index = 0; index < setting.endpoints; index += 1) {
    const [name = first] = index === 0 ? [] : left.splice(random.integer(0, left.length - 1), 1);
    const receiver = `${slug} ${index} ${name}`;
    const { body, wishes, healedUrl } = await openReceiver(receiver, name, setting);
    const startMs = performance.now();
    const { id } = await createEndpoint(instance, body, config.policy);
    endpoints.set(receiver, {
      id,
      created: { startMs, endMs: performance.now(), outcome: 'acknowledged' },
      deleted: undefined,
      status: 'active',
      isSkipped: false,
      mayPauseItself: name === 'is gone',
      healedUrl,
      wishes,
    });
  }
  const spare = new Map<string, SpareEndpoint>();
  for (let index = 0; index < spareCount; index += 1) {
    const receiver = `${slug} spare ${index}`;
    spare.set(receiver, await openReceiver(receiver, first, setting));
  }
  return { apiKey: key, endpoints, spare };
}

/** Opens a receiver. Returns the body of its endpoint, and its URL once all is well if that is another one. */
async function openReceiver(
  receiver: string,
  name: string,
  { random, receivers }: LedgerSetting,
): Promise<{
  readonly body: Readonly<Record<string, unknown>>;
  readonly wishes: EndpointWishes;
  readonly healedUrl: string | undefined;
}> {
  const script = makeScript(name, random);
  const port = await receivers.open(receiver, script);
  // Given, so that what is sent before a creation was answered can be verified as well.
  const secret = `whsec_${randomBytes(32).toString('base64')}`;
  await receivers.addSecret(receiver, secret);
  const isPatient = name === scriptNames[0] || random.unit() < patientShare;
  const wishes = drawWishes(random, name === scriptNames[0]);
  const body = {
    ...wishes,
    url: `${script.isWithoutTls === true ? 'https' : 'http'}://127.0.0.1:${port}/hook`,
    description: receiver,
    secret,
    timeoutMs: random.integer(1_000, 2_000),
    maxInFlight: random.integer(4, 16),
    schedule: isPatient ? schedules[0] : random.pick(schedules),
  };
  return {
    body,
    wishes,
    healedUrl: script.isWithoutTls === true ? `http://127.0.0.1:${port}/hook` : undefined,
  };
}
