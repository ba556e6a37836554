import { useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { createInstance, type CreatedInstance, operatorKeys } from '../../api/operator.ts';
import { useAttempt } from '../../parts/attempt-form.tsx';
import { Button } from '../../parts/button.tsx';
import { Code } from '../../parts/code.tsx';
import { Drawer } from '../../parts/drawer.tsx';
import { errorAttributes, LabelledField } from '../../parts/labelled-field.tsx';
import { PasswordInput } from '../../parts/password-input.tsx';
import { SecretOnce } from '../../parts/secret-once.tsx';
import { DrawerForm, fieldsOf } from './drawer-form.tsx';
import { LabelField, PlaceFields, QuotaFields } from './instance-fields.tsx';
import { blankValues, encodeInstance } from './instance-values.ts';
import { TextField } from './text-field.tsx';

/** Makes an instance, and then shows its URL and the secrets of its endpoints. */
export function CreateDrawer({ onClose }: { readonly onClose: () => void }) {
  const [made, setMade] = useState<CreatedInstance>();
  return (
    <Drawer title={made === undefined ? 'New instance' : 'Instance created'} onClose={onClose}>
      {made === undefined ? <CreateForm onMade={setMade} /> : <Created instance={made} onClose={onClose} />}
    </Drawer>
  );
}

const blank = { ...blankValues, template: '', email: '', password: '', webhook: '' };

function toBody(values: typeof blank) {
  const { template, email, password, webhook } = values;
  const { host, ...rest } = encodeInstance(values);
  return {
    ...rest,
    ...(host !== null && { host }),
    ...(template.trim() !== '' && { template: template.trim() }),
    ...((email !== '' || password !== '') && { superuser: { email: email.trim(), password } }),
    ...(webhook.trim() !== '' && { endpoints: [{ url: webhook.trim() }] }),
  };
}

function CreateForm({ onMade }: { readonly onMade: (instance: CreatedInstance) => void }) {
  const queries = useQueryClient();
  const [values, setValues] = useState(blank);
  const { error, isBusy, attempt } = useAttempt();
  const errors = fieldsOf(error);
  const change = (part: Partial<typeof blank>): void => setValues((before) => ({ ...before, ...part }));
  const fields = { values, errors, onChange: change };
  return (
    <DrawerForm
      error={error}
      isBusy={isBusy}
      action="Create instance"
      onSubmit={() =>
        attempt(async () => {
          onMade(await createInstance(toBody(values)));
          await queries.invalidateQueries({ queryKey: operatorKeys.all });
        })
      }
    >
      <PlaceFields {...fields} />
      <TextField
        id="instance-template"
        label="Template"
        aside="optional"
        help="Slug of an instance whose collections and rules are copied."
        value={values.template}
        error={errors.get('template')}
        onChange={(template) => change({ template })}
      />
      <SuperuserFields values={values} errors={errors} onChange={change} />
      <TextField
        id="instance-webhook"
        label="Webhook URL"
        aside="optional"
        value={values.webhook}
        error={errors.get('endpoints.0.url') ?? errors.get('endpoints')}
        placeholder="https://app.example.com/hooks"
        onChange={(webhook) => change({ webhook })}
      />
      <LabelField {...fields} />
      <QuotaFields {...fields} />
    </DrawerForm>
  );
}

interface SuperuserFieldsProps {
  readonly values: typeof blank;
  readonly errors: ReadonlyMap<string, string>;
  readonly onChange: (change: Partial<typeof blank>) => void;
}

function SuperuserFields({ values, errors, onChange }: SuperuserFieldsProps) {
  return (
    <>
      <TextField
        id="superuser-email"
        label="Superuser email"
        aside="optional"
        type="email"
        value={values.email}
        error={errors.get('superuser.email') ?? errors.get('superuser')}
        onChange={(email) => onChange({ email })}
      />
      <LabelledField
        id="superuser-password"
        label="Superuser password"
        aside="optional"
        error={errors.get('superuser.password')}
      >
        <PasswordInput
          id="superuser-password"
          value={values.password}
          {...errorAttributes('superuser-password', errors.get('superuser.password'))}
          autoComplete="new-password"
          onChange={(event) => onChange({ password: event.target.value })}
        />
      </LabelledField>
    </>
  );
}

interface CreatedProps {
  readonly instance: CreatedInstance;
  readonly onClose: () => void;
}

/** The secrets are in no address and no store, so they are gone with this. */
function Created({ instance: { id, url, endpoints }, onClose }: CreatedProps) {
  return (
    <div className="drawer-body endpoint-form">
      <div className="drawer-form">
        <section className="section" aria-labelledby="instance-url">
          <h3 id="instance-url">URL</h3>
          <Code text={url} />
        </section>
        {endpoints.map((endpoint) => (
          <SecretOnce key={endpoint.id} secret={endpoint.secret} warnings={[]} />
        ))}
      </div>
      <div className="drawer-foot">
        <Link className="button" to="/operator/instances/$instance" params={{ instance: id }}>
          Open the instance
        </Link>
        <span className="drawer-foot-note" />
        <Button tone="primary" onClick={onClose}>
          Done
        </Button>
      </div>
    </div>
  );
}
