import { AppError, QuotaExceeded } from '../base/errors.ts';
import type { WebhookInstance } from './webhook-instance.ts';
import { type Endpoint, endpointsMax } from './endpoint.ts';

/**
 * How many endpoints there can be. Those of accounts are counted separately: they never use up the limit of superusers,
 * and no account uses up that of the others.
 */
const ofAccountMax = 5;

type Owned = Pick<Endpoint, 'owner'>;

/** Throws bad_request where a change would make more endpoints than there can be. A change that adds none is allowed, however many there are. */
export function refuseTooMany(
  { settings, quotas }: Pick<WebhookInstance, 'settings' | 'quotas'>,
  { before, after }: { readonly before: readonly Owned[]; readonly after: readonly Owned[] },
  failed: string,
): void {
  const [had, has] = [countOf(before), countOf(after)];
  const { accountEndpointsMax } = settings.current.webhooks;
  const refuse = (what: string): never => {
    throw new AppError('bad_request', `${failed} ${what}`);
  };
  const { endpoints: quota } = quotas();
  if (quota !== undefined && after.length > quota && after.length > before.length)
    throw new QuotaExceeded('endpoints');
  if (has.unowned > endpointsMax && has.unowned > had.unowned)
    refuse(`There can be at most ${endpointsMax} endpoints.`);
  for (const [owner, count] of has.owners)
    if (count > ofAccountMax && count > (had.owners.get(owner) ?? 0))
      refuse(`An account may have at most ${ofAccountMax} endpoints.`);
  if (has.owned > accountEndpointsMax && has.owned > had.owned)
    refuse(
      `Accounts can have at most ${accountEndpointsMax} endpoints together (webhooks.accountEndpointsMax).`,
    );
}

interface Counts {
  readonly unowned: number;
  readonly owned: number;
  readonly owners: ReadonlyMap<string, number>;
}

function countOf(endpoints: readonly Owned[]): Counts {
  const owners = new Map<string, number>();
  for (const { owner } of endpoints) if (owner !== '') owners.set(owner, (owners.get(owner) ?? 0) + 1);
  const owned = owners.values().reduce((sum, count) => sum + count, 0);
  return { unowned: endpoints.length - owned, owned, owners };
}
