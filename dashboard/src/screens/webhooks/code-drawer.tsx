import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { call } from '../../api/client.ts';
import { forgetEndpoints } from '../../api/endpoints.ts';
import type { Endpoint } from '../../api/events.ts';
import type { Schemas } from '../../api/schema.ts';
import { Button } from '../../parts/button.tsx';
import { CopyButton } from '../../parts/copy-button.tsx';
import { Drawer } from '../../parts/drawer.tsx';
import { InputField } from '../../parts/labelled-field.tsx';
import { Notice } from '../../parts/notice.tsx';
import { ImportFields, usePlannedImport } from '../../parts/planned-import.tsx';
import { Section } from '../../parts/section.tsx';
import { newEndpoint } from './endpoint-parts.ts';

type Plan = Schemas['EndpointImported'];

const title = 'Endpoints as code';

interface CodeDrawerProps {
  readonly endpoints: readonly Endpoint[];
  readonly onClose: () => void;
}

/** The endpoints with names as a file: to copy what there is, and to make them what a file says, after a look at what that would change. */
export function CodeDrawer({ endpoints, onClose }: CodeDrawerProps) {
  const [made, setMade] = useState<Plan>();
  return (
    <Drawer title={title} onClose={onClose}>
      {made === undefined ? (
        <CodeForm endpoints={endpoints} onMade={setMade} />
      ) : (
        <Outcome made={made} onClose={onClose} />
      )}
    </Drawer>
  );
}

interface CodeFormProps {
  readonly endpoints: readonly Endpoint[];
  readonly onMade: (made: Plan) => void;
}

function CodeForm({ endpoints, onMade }: CodeFormProps) {
  const queries = useQueryClient();
  const send = async (items: readonly unknown[], deleteMissing: boolean, dryRun: boolean): Promise<Plan> => {
    // The service checks each of them.
    const list = items as Schemas['EndpointImport']['endpoints'];
    return call('PUT /api/webhooks/endpoints/import', { body: { endpoints: list, deleteMissing, dryRun } });
  };
  const form = usePlannedImport<Plan>({
    initial: fileOf(endpoints),
    member: 'endpoints',
    plan: async (items, deleteMissing) => send(items, deleteMissing, true),
    apply: async (items, deleteMissing) => {
      const made = await send(items, deleteMissing, false);
      const ids = made.deleted.map(({ id }) => id);
      await forgetEndpoints(queries, ids);
      onMade(made);
    },
  });
  const { text, plan, isBusy } = form;
  return (
    <form
      className="drawer-body endpoint-form"
      onSubmit={(event) => {
        event.preventDefault();
        if (plan === undefined) form.review();
        else form.attemptApply();
      }}
    >
      <div className="drawer-form">
        <ImportFields
          form={form}
          label="File"
          help="Named endpoints, in the format of chancery endpoint export, without secrets."
          aside={<CopyButton text={text} label="Copy the file" />}
          rows={18}
          deleteLabel="Delete endpoints with names that are not in the file"
        />
        {endpoints.length > 0 && endpoints.every(({ name }) => name === '') && (
          <Notice>No endpoint has a name yet. Endpoints named in their settings appear here.</Notice>
        )}
        {plan !== undefined && <PlanView plan={plan} />}
      </div>
      <div className="drawer-foot">
        <span className="drawer-foot-note">Nothing changes until you apply it.</span>
        <Button type="submit" tone="primary" disabled={isBusy || (plan !== undefined && isNothing(plan))}>
          {plan === undefined ? 'Review changes' : 'Apply'}
        </Button>
      </div>
    </form>
  );
}

function PlanView({ plan: { created, updated, unchanged, deleted } }: { readonly plan: Plan }) {
  return (
    <Section title="What would change" level={3}>
      <ul aria-live="polite">
        {created.map(({ name }) => (
          <li key={name}>
            <span className="mono">{name}</span> would be created.
          </li>
        ))}
        {updated.map(({ name, changed }) => (
          <li key={name}>
            <span className="mono">{name}</span> would get a new {changed.join(', ')}.
          </li>
        ))}
        {deleted.map(({ name }) => (
          <li key={name}>
            <span className="mono">{name}</span> would be deleted with its queued deliveries.
          </li>
        ))}
        <li className="soft">
          {unchanged.length === 1 ? '1 endpoint stays' : `${unchanged.length} endpoints stay`} unchanged.
        </li>
      </ul>
    </Section>
  );
}

interface OutcomeProps {
  readonly made: Plan;
  readonly onClose: () => void;
}

function Outcome({ made: { created, updated, deleted }, onClose }: OutcomeProps) {
  return (
    <div className="drawer-body endpoint-form">
      <div className="drawer-form">
        <Notice tone="ok">
          {created.length} made, {updated.length} changed, {deleted.length} deleted.
        </Notice>
        {created.map(({ name, secret = '' }) => (
          <InputField
            key={name}
            label={`Secret of ${name}`}
            aside={<CopyButton text={secret} label={`Copy the secret of ${name}`} />}
            isMono
            readOnly
            value={secret}
          />
        ))}
      </div>
      <div className="drawer-foot">
        <Button tone="primary" onClick={onClose}>
          Done
        </Button>
      </div>
    </div>
  );
}

function isNothing({ created, updated, deleted }: Plan): boolean {
  return created.length + updated.length + deleted.length === 0;
}

/** Returns the endpoints with names as a file has them. One that is not active begins as paused where it is made. */
function fileOf(endpoints: readonly Endpoint[]): string {
  const named = endpoints.filter(({ name }) => name !== '').toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const definitions = named.map((endpoint) => ({
    ...Object.fromEntries(
      Object.entries(endpoint).filter(([name]) => name !== 'status' && name in newEndpoint),
    ),
    ...(endpoint.status !== 'active' && { status: 'paused' }),
  }));
  return JSON.stringify({ endpoints: definitions }, null, 2);
}
