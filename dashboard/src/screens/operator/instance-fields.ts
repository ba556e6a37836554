import type { ManagedInstance } from '../../api/operator.ts';
import type { Field, Part, Values } from '../../parts/form/field.ts';
import { isByteQuota, quotaLabel, quotaNames } from './instance-values.ts';

/** Where an instance is. */
const place: readonly Field[] = [
  { path: 'slug', kind: 'text', label: 'Slug', placeholder: 'acme', hasFocus: true },
  {
    path: 'host',
    kind: 'text',
    isNullable: true,
    label: 'Host',
    aside: 'optional',
    placeholder: 'acme.example.com',
  },
];

const labels: Field = {
  path: 'labels',
  kind: 'pairs',
  sign: '=',
  label: 'Labels',
  aside: 'name=value, one per line',
  placeholder: 'plan=pro',
};

const quotas: Part = {
  kind: 'fold',
  title: 'Quotas',
  parts: [
    {
      kind: 'row',
      parts: quotaNames.map((name) => ({
        path: `quotas.${name}`,
        kind: isByteQuota(name) ? 'bytes' : 'number',
        isNullable: true,
        label: quotaLabel(name),
        placeholder: isByteQuota(name) ? 'No limit, or 5 GiB' : 'No limit',
      })),
    },
  ],
};

/** What an instance begins with, beside where it is. */
const beginning: readonly Field[] = [
  {
    path: 'template',
    kind: 'text',
    label: 'Template',
    aside: 'optional',
    help: 'Slug of an instance whose collections and rules are copied.',
  },
  { path: 'superuser.email', kind: 'text', type: 'email', label: 'Superuser email', aside: 'optional' },
  { path: 'superuser.password', kind: 'secret', label: 'Superuser password', aside: 'optional' },
  {
    path: 'endpoints.0.url',
    kind: 'text',
    type: 'url',
    label: 'Webhook URL',
    aside: 'optional',
    placeholder: 'https://app.example.com/hooks',
  },
];

export const instanceParts: readonly Part[] = [...place, labels, quotas];
export const newInstanceParts: readonly Part[] = [...place, ...beginning, labels, quotas];

/** Returns the quotas as the API has them, which replaces all of them: without those that are none. */
export function withQuotas(body: Values, before: ManagedInstance['quotas']): Values {
  if (body['quotas'] === undefined) return body;
  // The quotas of the form are those of the API, or null.
  const all = Object.entries({ ...before, ...(body['quotas'] as Values) });
  return { ...body, quotas: Object.fromEntries(all.filter(([, max]) => max !== null)) };
}
