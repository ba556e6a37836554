import { startApp } from '../../src/app.ts';
import { onInstance } from '../../src/open-data-directory.ts';
import { createCollection } from '../../src/definitions/change-collection.ts';
import { readConfig } from '../../src/config/config.ts';
import { createEndpoint } from '../../src/deliveries/endpoints/change-endpoint.ts';
import type { LifeEnd } from './check-run.ts';
import { errorsOnly } from './errors-only.ts';
import { Journal } from './journal.ts';
import { Random } from './random.ts';
import { Client } from './workload.ts';
import { noteTakeovers } from './postgres-state.ts';
import { posts } from './posts.ts';

/** An instance with its receivers and those who write it. */
export interface InstanceUnderLoad {
  readonly id: string;
  readonly slug: string;
  readonly journal: Journal;
  readonly clients: readonly Client[];
  readonly lives: LifeEnd[];
}

/** Of every node of a run. */
export const environment = {
  CHANCERY_KEY: '0056e30c23e3d6d1d258f141e4d8b44df26abf8475fec988b58013ec98633d94',
};

const instanceCount = 4;
const clientsPerInstance = 1;
const paths = ['/first', '/second'];

/** Instances with an open collection `posts` and two endpoints each, made by this process. */
export async function prepareInstances(url: string, random: Random): Promise<readonly InstanceUnderLoad[]> {
  const config = readConfig({ postgres: url, port: '0', dev: true }, environment);
  const app = await startApp(config, { logger: errorsOnly });
  const instances: InstanceUnderLoad[] = [];
  for (let index = 0; index < instanceCount; index += 1) {
    const slug = `instance-${index}`;
    const journal = await Journal.open();
    const entry = await app.data.directory.create(slug, null);
    await onInstance(app.data, entry, async (instance) => {
      await createCollection({ ...instance, now: instance.clock.now() }, posts);
      for (const path of paths) {
        const settings = { url: journal.urlAt(path), maxInFlight: 8 };
        const { secret } = await createEndpoint(instance, settings, config.policy);
        journal.secrets.set(path, secret);
      }
    });
    const clients = Array.from(
      { length: clientsPerInstance },
      (_, client) => new Client(`t${index}c${client}`, new Random(random.integer(0, 2 ** 31))),
    );
    instances.push({ id: entry.id, slug, journal, clients, lives: [] });
  }
  await app.stop();
  await noteTakeovers(url);
  return instances;
}
