import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { call, Failure } from '../../api/client.ts';
import { forgetEndpoints } from '../../api/endpoints.ts';
import type { Endpoint } from '../../api/events.ts';
import type { Schemas } from '../../api/schema.ts';
import { useAttempt } from '../../parts/attempt-form.tsx';
import { Button } from '../../parts/button.tsx';
import { CopyButton } from '../../parts/copy-button.tsx';
import { Drawer } from '../../parts/drawer.tsx';
import { errorAttributes, InputField, LabelledField } from '../../parts/labelled-field.tsx';
import { FailureNotice, Notice } from '../../parts/notice.tsx';
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
  const [file, setFile] = useState(() => ({ text: fileOf(endpoints), deleteMissing: false }));
  const [plan, setPlan] = useState<Plan>();
  const { error, isBusy, attempt, forget } = useAttempt();
  const edit = (part: Partial<typeof file>): void => {
    setFile({ ...file, ...part });
    // What is shown is what is applied: another file has to be looked at again.
    setPlan(undefined);
    forget();
  };
  const run = (dryRun: boolean): void =>
    attempt(async () => {
      const { text, deleteMissing } = file;
      const body = { endpoints: definitionsIn(text), deleteMissing, dryRun };
      const answer = await call('PUT /api/webhooks/endpoints/import', { body });
      if (dryRun) setPlan(answer);
      else {
        const ids = answer.deleted.map(({ id }) => id);
        await forgetEndpoints(queries, ids);
        onMade(answer);
      }
    });
  return (
    <form
      className="drawer-body endpoint-form"
      onSubmit={(event) => {
        event.preventDefault();
        run(plan === undefined);
      }}
    >
      <div className="drawer-form">
        <FileField text={file.text} error={error} onChange={(text) => edit({ text })} />
        <label className="check">
          <input
            type="checkbox"
            checked={file.deleteMissing}
            onChange={({ target }) => edit({ deleteMissing: target.checked })}
          />
          Delete endpoints with names that are not in the file
        </label>
        {endpoints.length > 0 && endpoints.every(({ name }) => name === '') && (
          <Notice>No endpoint has a name yet. Endpoints named in their settings appear here.</Notice>
        )}
        {error !== undefined && !(error instanceof NoFile) && <Refusal error={error} />}
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

interface FileFieldProps {
  readonly text: string;
  readonly error: unknown;
  readonly onChange: (text: string) => void;
}

function FileField({ text, error, onChange }: FileFieldProps) {
  const problem = error instanceof NoFile ? error.message : undefined;
  return (
    <LabelledField
      id="code"
      label="File"
      help="Named endpoints, in the format of chancery endpoint export, without secrets."
      aside={<CopyButton text={text} label="Copy the file" />}
      error={problem}
    >
      <textarea
        id="code"
        className="input mono"
        rows={18}
        value={text}
        spellCheck={false}
        onChange={({ target }) => onChange(target.value)}
        {...errorAttributes('code', problem)}
      />
    </LabelledField>
  );
}

function Refusal({ error }: { readonly error: unknown }) {
  const problems = error instanceof Failure ? [...error.fields] : [];
  if (problems.length === 0) return <FailureNotice error={error} />;
  return problems.map(([path, message]) => (
    <Notice key={path} tone="failed">
      <span className="mono">{path}</span>: {message}
    </Notice>
  ));
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

/** What was typed is no file of endpoints. */
class NoFile extends Error {}

function definitionsIn(text: string): Schemas['EndpointImport']['endpoints'] {
  let file: unknown;
  try {
    file = JSON.parse(text);
  } catch {
    throw new NoFile('Invalid JSON.');
  }
  const endpoints: unknown =
    typeof file === 'object' && file !== null && 'endpoints' in file ? file.endpoints : undefined;
  if (!Array.isArray(endpoints)) throw new NoFile('A list is needed: { "endpoints": [ … ] }.');
  // The service checks each of them.
  return endpoints as Schemas['EndpointImport']['endpoints'];
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
