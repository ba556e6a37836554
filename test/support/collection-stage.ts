import type { TestContext } from 'node:test';
import { startService, type TestAnswer, type TestService } from './service.ts';

const path = '/api/collections';

/** A service, with requests of a superuser about collections and their records. */
export class CollectionStage {
  readonly service: TestService;

  constructor(service: TestService) {
    this.service = service;
  }

  static async start(t: TestContext): Promise<CollectionStage> {
    return new CollectionStage(await startService(t));
  }

  create(body: object): Promise<TestAnswer> {
    return this.service.request(path, { method: 'POST', token: true, body });
  }

  change(name: string, body: object): Promise<TestAnswer> {
    return this.service.request(`${path}/${name}`, { method: 'PATCH', token: true, body });
  }

  view(name: string): Promise<TestAnswer> {
    return this.service.request(`${path}/${name}`, { token: true });
  }

  /** Deletes a collection, or with `name/truncate` its records. */
  remove(what: string): Promise<TestAnswer> {
    return this.service.request(`${path}/${what}`, { method: 'DELETE', token: true });
  }

  records(name: string, query = ''): Promise<TestAnswer> {
    return this.service.request(`${path}/${name}/records?${query}`, { token: true });
  }

  add(name: string, body: object): Promise<TestAnswer> {
    return this.service.request(`${path}/${name}/records`, { method: 'POST', token: true, body });
  }
}
