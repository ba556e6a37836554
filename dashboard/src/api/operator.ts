import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { auditPages, type AuditSelection } from './audit.ts';
import { client } from './client.ts';
import { allOf, typedCondition } from './expressions.ts';
import { callOperator, mayOperate } from './operator-session.ts';
import type { Schemas } from './schema.ts';

export type ManagedInstance = Schemas['ManagedInstance'];
export type CreatedInstance = Schemas['CreatedInstance'];
export type TopUsage = Schemas['TopUsage']['items'][number];
export type UsageStep = Schemas['InstanceUsage']['items'][number];
export type QuotaReading = Schemas['InstanceQuotas']['items'][number];
export type InstanceBackup = Schemas['OperatorBackup'];

/** What is known of the operator's things; `instances` are all queries of which an instance is a part. */
export const operatorKeys = {
  all: ['operator'],
  instances: ['operator', 'instances'],
  backups: ['operator', 'backups'],
} as const;

const pageSize = 40;
const dayMs = 86_400_000;

export interface InstanceSelection {
  /** A part of a slug or host, an id, or an expression. */
  readonly find: string;
  /** Empty for all but deleted ones. */
  readonly state: string;
  readonly sort: string;
}

/** An instance with what it has used in the last day; undefined where the key may not know, null where it has used nothing. */
export interface InstanceRow {
  /** That of the instance. */
  readonly id: string;
  readonly instance: ManagedInstance;
  readonly usage: TopUsage | null | undefined;
}

/** The instances of a selection, each page with their usage in one more request. */
export function instancesQuery(selection: InstanceSelection) {
  return infiniteQueryOptions({
    queryKey: [...operatorKeys.instances, 'list', selection],
    queryFn: async ({ pageParam: page, signal }): Promise<readonly InstanceRow[]> => {
      const filter = instanceFilter(selection);
      const query = { filter, sort: selection.sort, page, perPage: pageSize, skipTotal: true };
      const { items } = await callOperator('GET /api/operator/instances', { query, signal });
      const usage = await usageOf(items, signal);
      return items.map((instance) => ({
        id: instance.id,
        instance,
        usage: usage && (usage.get(instance.id) ?? null),
      }));
    },
    initialPageParam: 1,
    getNextPageParam: (last, _pages, page) => (last.length < pageSize ? undefined : page + 1),
  });
}

async function usageOf(
  instances: readonly ManagedInstance[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, TopUsage> | undefined> {
  if (!mayOperate('usage:read') || instances.length === 0) return undefined;
  const ids = instances.map(({ id }) => id).join(',');
  const query = { instances: ids, top: pageSize, from: new Date(Date.now() - dayMs).toISOString() };
  const { items } = await callOperator('GET /api/operator/usage', { query, signal });
  return new Map(items.map((item) => [item.instance, item]));
}

function instanceFilter({ find, state }: InstanceSelection): string {
  return allOf([
    ...typedCondition(find, 'slug ~ {:word} || host ~ {:word} || id = {:word}'),
    state === '' ? "state != 'deleted'" : client.filter('state = {:state}', { state }),
  ]);
}

export function instanceQuery(id: string) {
  return queryOptions({
    queryKey: [...operatorKeys.instances, 'one', id],
    queryFn: async ({ signal }) =>
      callOperator('GET /api/operator/instances/{instance}', { path: { instance: id }, signal }),
  });
}

const refreshMs = 30_000;

/** The quotas of an instance and what is used of each. */
export function quotasQuery(id: string) {
  return queryOptions({
    queryKey: [...operatorKeys.instances, 'quotas', id],
    queryFn: async ({ signal }) =>
      (
        await callOperator('GET /api/operator/instances/{instance}/quotas', {
          path: { instance: id },
          signal,
        })
      ).items,
    refetchInterval: refreshMs,
  });
}

const spanDays = { '24h': 1, '7d': 7, '30d': 30, '12m': 365 } as const;
export type UsageSpan = keyof typeof spanDays;
const hourMs = 3_600_000;

/** What an instance has used by hours or days, also in those in which it has used nothing. */
export interface UsageSeries {
  readonly step: 'hour' | 'day';
  readonly times: readonly string[];
  readonly items: readonly (UsageStep | undefined)[];
}

export function usageQuery(id: string, span: UsageSpan) {
  return queryOptions({
    queryKey: [...operatorKeys.instances, 'usage', id, span],
    queryFn: async ({ signal }): Promise<UsageSeries> => {
      const days = spanDays[span];
      const step = days <= 7 ? 'hour' : 'day';
      const stepMs = step === 'hour' ? hourMs : dayMs;
      const count = (days * dayMs) / stepMs;
      const first = Math.floor(Date.now() / stepMs) * stepMs - (count - 1) * stepMs;
      const query = { step, from: new Date(first).toISOString() } as const;
      const path = { instance: id };
      const { items } = await callOperator('GET /api/operator/instances/{instance}/usage', {
        path,
        query,
        signal,
      });
      const known = new Map(items.map((item) => [Date.parse(item.at.replace(' ', 'T')), item]));
      const starts = Array.from({ length: count }, (_, index) => first + index * stepMs);
      return {
        step,
        times: starts.map((at) => new Date(at).toISOString()),
        items: starts.map((at) => known.get(at)),
      };
    },
    refetchInterval: refreshMs,
  });
}

export const usageNames = ['requests', 'writes', 'events', 'deliveries', 'sentBytes'] as const;
export type UsageName = (typeof usageNames)[number];

const topMax = 200;

/** The instances that have used most of something. */
export function topUsageQuery(by: UsageName, span: UsageSpan) {
  return queryOptions({
    queryKey: [...operatorKeys.instances, 'top', by, span],
    queryFn: async ({ signal }) => {
      const from = new Date(Date.now() - spanDays[span] * dayMs).toISOString();
      const query = { by, from, top: topMax };
      return (await callOperator('GET /api/operator/usage', { query, signal })).items;
    },
  });
}

const runningMs = 1_000;

/** How soon to look again: a job may end any moment. */
function refreshOf(backups: readonly InstanceBackup[]): number {
  return backups.some(({ running }) => running !== null) ? runningMs : refreshMs;
}

export function instanceBackupQuery(id: string) {
  return queryOptions({
    queryKey: [...operatorKeys.backups, 'one', id],
    queryFn: async ({ signal }) =>
      callOperator('GET /api/operator/instances/{instance}/backups', { path: { instance: id }, signal }),
    refetchInterval: ({ state: { data } }) => refreshOf(data === undefined ? [] : [data]),
  });
}

/** The schedule of the operator, and the last backups of all instances: overdue and failed ones first, then the oldest. */
export const backupsOfAllQuery = queryOptions({
  queryKey: [...operatorKeys.backups, 'all'],
  queryFn: async ({ signal }) => {
    const { items, ...rest } = await callOperator('GET /api/operator/backups', { signal });
    const rankOf = ({ isOverdue, failure }: InstanceBackup): number =>
      isOverdue ? 0 : failure === null ? 2 : 1;
    const endOf = ({ lastBackup }: InstanceBackup): string => lastBackup?.ended ?? '';
    const sorted = items.toSorted(
      (one, other) => rankOf(one) - rankOf(other) || (endOf(one) < endOf(other) ? -1 : 1),
    );
    return { ...rest, items: sorted };
  },
  refetchInterval: ({ state: { data } }) => refreshOf(data?.items ?? []),
});

export const nodesQuery = queryOptions({
  queryKey: [...operatorKeys.all, 'nodes'],
  queryFn: async ({ signal }) => (await callOperator('GET /api/operator/nodes', { signal })).items,
  refetchInterval: refreshMs,
});

/** An event with the slug of its instance, or the id where that is gone. */
export interface NamedEvent extends OperatorEvent {
  readonly slug: string;
}

type OperatorEvent = Schemas['OperatorEvent'];

const eventPageSize = 60;

/** The slugs of the instances of events by their ids. Some events say them, of backups and quotas they do not. */
async function slugsOf(
  events: readonly OperatorEvent[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, string>> {
  const slugs = new Map<string, string>();
  for (const { instance, data } of events.toReversed())
    if (typeof data['slug'] === 'string') slugs.set(instance, data['slug']);
  const others = [...new Set(events.map(({ instance }) => instance))].filter((id) => !slugs.has(id));
  if (others.length === 0) return slugs;
  const filter = others.map((id) => client.filter('id = {:id}', { id })).join(' || ');
  const query = { filter, perPage: eventPageSize, skipTotal: true };
  const { items } = await callOperator('GET /api/operator/instances', { query, signal });
  for (const { id, slug } of items) slugs.set(id, slug);
  return slugs;
}

/** What became of instances. */
export function operatorEventsQuery(order: 'asc' | 'desc') {
  return infiniteQueryOptions({
    queryKey: [...operatorKeys.all, 'events', order],
    queryFn: async ({ pageParam: cursor, signal }) => {
      const query = { order, cursor, perPage: eventPageSize } as const;
      const { items, nextCursor } = await callOperator('GET /api/operator/events', { query, signal });
      const slugs = await slugsOf(items, signal);
      const named = items.map((event): NamedEvent => ({
        ...event,
        slug: slugs.get(event.instance) ?? event.instance,
      }));
      return { items: named, nextCursor };
    },
    initialPageParam: '',
    getNextPageParam: ({ items, nextCursor }) => (items.length < eventPageSize ? undefined : nextCursor),
  });
}

/** What operator keys have done. */
export function operatorAuditQuery(selection: AuditSelection) {
  return auditPages([...operatorKeys.all, 'audit'], selection, async (query, signal) =>
    callOperator('GET /api/operator/audit', { query, signal }),
  );
}

type Step = 'suspend' | 'resume' | 'restore';

/** Suspends, resumes or restores an instance. */
export async function takeStep(id: string, step: Step): Promise<ManagedInstance> {
  return callOperator(`POST /api/operator/instances/{instance}/${step}`, { path: { instance: id } });
}

/** Resolves when the backup is stored. */
export async function backUp(id: string): Promise<void> {
  await callOperator('POST /api/operator/instances/{instance}/backups', { path: { instance: id } });
}
