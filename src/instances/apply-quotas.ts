import type { Logger } from '../base/logger.ts';
import { setTableQuotas } from '../collections/table-quotas.ts';
import type { InstanceDirectory } from './instance-directory.ts';
import type { StoredQuotas } from './instance-index.ts';
import type { Instance } from './instance.ts';
import type { OpenInstances } from './open-instances.ts';

/** Brings what the database itself holds in line with the quotas of the instance. */
export function applyQuotas(
  { database, collections }: Pick<Instance, 'database' | 'collections'>,
  { quotas, version }: StoredQuotas,
): Promise<void> {
  return setTableQuotas(database, collections, { ...quotas, version });
}

/** Returns what applies changed quotas to an instance that is open. Others follow when they are opened. */
export function applyingQuotas({
  directory,
  instances,
  logger,
}: {
  readonly directory: InstanceDirectory;
  readonly instances: OpenInstances;
  readonly logger: Logger;
}): (instanceId: string) => void {
  const apply = async (instanceId: string): Promise<void> => {
    const entry = directory.find(instanceId);
    if (entry === undefined || !instances.isOpen(instanceId)) return;
    const loan = await instances.borrow(entry);
    await applyQuotas(loan.instance, directory.quotasOf(instanceId)).finally(() => loan.release());
  };
  return (instance) =>
    void apply(instance).catch((error: unknown) =>
      logger.warn('Quotas could not be applied; they apply when the instance is next opened.', {
        instance,
        error,
      }),
    );
}
