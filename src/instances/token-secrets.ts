import type { TokenKind } from '../collections/auth-options.ts';
import type { Sealer, SealPlace } from '../secrets/seal.ts';
import { writeSecret } from '../secrets/secrets.ts';
import { newTokenSecret } from '../secrets/token.ts';
import type { Transaction } from '../storage/database.ts';

/** Of one auth collection: what is to be put in force, and empty where any secret will do. */
export interface NewTokenSecrets {
  readonly collection: string;
  readonly secrets: ReadonlyMap<TokenKind, string>;
}

/** Ends whatever was signed with the ones before. */
export async function writeTokenSecrets(
  tx: Transaction,
  sealer: Sealer,
  { collection, secrets }: NewTokenSecrets,
): Promise<void> {
  for (const [kind, given] of secrets) {
    const sealed = sealer.seal(given === '' ? newTokenSecret() : given, tokenSecretPlace(collection, kind));
    await writeSecret(tx, { collection, record: '', name: kind }, sealed);
  }
}

/** Where a sealed secret belongs. The one for sessions has no kind in it: it is from before there were others. */
export function tokenSecretPlace(collection: string, kind: TokenKind): SealPlace {
  return { purpose: 'token-secret', id: kind === 'authToken' ? collection : `${collection} ${kind}` };
}
