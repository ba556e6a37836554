import type { Logger } from '../base/logger.ts';
import { StorageDamage } from '../storage/engine-errors.ts';
import type { DamageListener } from '../storage/storage-health.ts';
import type { Loan } from './open-instances.ts';

export interface ReportDamageOptions {
  readonly borrow: (instanceId: string) => Promise<Loan | undefined>;
  readonly logger: Logger;
}

/** Returns a listener that reports damage in the log of the service and in the instance's audit log. */
export function reportDamage({ borrow, logger }: ReportDamageOptions): DamageListener {
  return (instance, error) => {
    logger.error('Stored data is damaged: restore it from a backup.', {
      ...(instance && { instance }),
      error,
    });
    if (instance !== '') void audit(borrow, instance, error);
  };
}

async function audit(borrow: ReportDamageOptions['borrow'], instance: string, error: unknown): Promise<void> {
  // The log of the service has more of a request that meets damage: its error may name the file.
  const details = error instanceof StorageDamage ? { problems: error.problems } : {};
  try {
    const loan = await borrow(instance);
    loan?.instance.audit.note('operator', { action: 'instance.damage', details });
    loan?.release();
  } catch {
    // An instance that cannot be opened has no audit log. The log of the service has the reason.
  }
}
