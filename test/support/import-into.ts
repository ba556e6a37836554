import { join } from 'node:path';
import {
  importPocketbase,
  type ImportSummary,
  type PocketbaseImport,
} from '../../src/transfer/pocketbase/import-pocketbase.ts';
import type { TestService } from './service.ts';

export type ImportOptions = Partial<
  Pick<PocketbaseImport, 'isDryRun' | 'rotateTokens' | 'encryptionKey' | 'onProgress'>
> & { readonly slug?: string };

/** Imports a directory into an instance without the command line. The import ends the superuser's token, so they sign in again. */
export async function importInto(
  service: TestService,
  directory: string,
  { slug = 'default', ...options }: ImportOptions = {},
): Promise<ImportSummary> {
  try {
    return await service.withInstance(slug, (instance) =>
      importPocketbase({
        instance,
        control: service.app.data.home.control,
        directory,
        storage: storageOf(service, instance.id),
        isDryRun: false,
        rotateTokens: false,
        encryptionKey: undefined,
        onProgress: () => undefined,
        ...options,
      }),
    );
  } finally {
    const { email: identity, password } = service.superuser;
    const path = '/api/collections/_superusers/auth-with-password';
    const signedIn = await service.request(path, { method: 'POST', body: { identity, password } });
    service.superuser.token = String(signedIn.json.token);
  }
}

export function storageOf({ data }: Pick<TestService, 'data'>, instanceId: string): string {
  return join(data, 'instances', instanceId, 'storage');
}

/** Returns the omissions, one line each: `posts: listRule`. */
export function omissionsOf({ omissions }: ImportSummary): readonly string[] {
  return omissions.map(({ of, what, count }) => `${of}: ${what}${count > 1 ? ` × ${count}` : ''}`).toSorted();
}
