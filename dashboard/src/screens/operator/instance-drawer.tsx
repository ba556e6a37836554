import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import ExternalLink from 'lucide-react/icons/external-link';
import { useState } from 'react';
import { type ManagedInstance, operatorKeys } from '../../api/operator.ts';
import { callOperator } from '../../api/operator-session.ts';
import type { Operations, Schemas } from '../../api/schema.ts';
import { CopyButton } from '../../parts/copy-button.tsx';
import { Drawer } from '../../parts/drawer.tsx';
import type { Part } from '../../parts/form/field.ts';
import { FormView } from '../../parts/form/form-view.tsx';
import { useForm } from '../../parts/form/use-form.ts';
import { blankKey, KeyOnce, keyParts, toKey } from '../../parts/key-fields.tsx';
import { Time } from '../../parts/time.tsx';
import { showToast } from '../../parts/toast.tsx';
import { instanceParts, withQuotas } from './instance-fields.ts';

interface InstanceDrawerProps {
  readonly open: InstanceForm;
  readonly instance: ManagedInstance;
  readonly onClose: () => void;
}

export type InstanceForm = 'edit' | 'clone' | 'key' | 'sign-in';

const drawers = {
  edit: { title: 'Edit', Form: EditForm },
  clone: { title: 'Clone', Form: CloneForm },
  key: { title: 'API key for', Form: KeyForm },
  'sign-in': { title: 'Dashboard of', Form: SignInForm },
} as const;

/** What is done with one instance that needs a form. */
export function InstanceDrawer({ open, instance, onClose }: InstanceDrawerProps) {
  const { title, Form } = drawers[open];
  return (
    <Drawer title={`${title} ${instance.slug}`} onClose={onClose}>
      <Form instance={instance} onClose={onClose} />
    </Drawer>
  );
}

type FormProps = Omit<InstanceDrawerProps, 'open'>;

/** Changes slug, host, labels and quotas. */
function EditForm({ instance, onClose }: FormProps) {
  const queries = useQueryClient();
  const form = useForm({
    name: `instance:${instance.id}`,
    parts: instanceParts,
    values: { ...instance },
    save: async (body) => {
      await callOperator('PATCH /api/operator/instances/{instance}', {
        path: { instance: instance.id },
        body: withQuotas(body, instance.quotas),
      });
      showToast('Saved');
      await queries.invalidateQueries({ queryKey: operatorKeys.all });
      onClose();
    },
  });
  return <FormView form={form} layout="drawer" action="Save" />;
}

const cloneParts: readonly Part[] = [
  {
    path: 'slug',
    kind: 'text',
    label: 'Slug of the copy',
    help: 'Copies everything. The endpoints of the copy are paused.',
    hasFocus: true,
  },
];

/** Copies an instance into a new one, and goes there. */
function CloneForm({ instance: { id, slug: source } }: FormProps) {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const form = useForm({
    name: `clone:${id}`,
    prefix: 'clone-',
    parts: cloneParts,
    values: { slug: `${source}-copy` },
    isNew: true,
    save: async ({ slug }) => {
      const options = { path: { instance: id }, body: { slug: String(slug) } };
      const copy = await callOperator('POST /api/operator/instances/{instance}/clone', options);
      showToast(`${source} is copied to ${copy.slug}.`);
      await queries.invalidateQueries({ queryKey: operatorKeys.all });
      await navigate({ to: '/operator/instances/$instance', params: { instance: copy.id } });
    },
  });
  return <FormView form={form} layout="drawer" action={form.isBusy ? 'Copying …' : 'Clone'} />;
}

/** Makes an API key of an instance, or a link that signs in to its dashboard once. */
async function issue(
  instance: string,
  body: Operations['POST /api/operator/instances/{instance}/keys']['body'],
) {
  return callOperator('POST /api/operator/instances/{instance}/keys', { path: { instance }, body });
}

/** Makes an API key of an instance, and shows it once. */
function KeyForm({ instance: { id } }: FormProps) {
  const [made, setMade] = useState('');
  const form = useForm({
    name: `key:${id}`,
    parts: keyParts(),
    values: blankKey,
    isNew: true,
    save: async (values) => {
      const answer = await issue(id, toKey(values));
      if ('key' in answer) setMade(answer.key);
    },
  });
  if (made === '') return <FormView form={form} layout="drawer" action="Issue key" />;
  return (
    <div className="drawer-form">
      <KeyOnce text={made} />
    </div>
  );
}

const signInParts: readonly Part[] = [
  {
    path: 'email',
    kind: 'text',
    label: 'Superuser email',
    aside: 'optional',
    help: 'Leave empty for the first superuser. The sign-in is audited.',
    hasFocus: true,
  },
];

/** Makes a link that signs in to the dashboard of an instance, once. */
function SignInForm({ instance: { id }, onClose }: FormProps) {
  const [link, setLink] = useState<Schemas['InstanceSignIn']>();
  const form = useForm({
    name: `sign-in:${id}`,
    prefix: 'sign-in-',
    parts: signInParts,
    values: { email: '' },
    isNew: true,
    save: async ({ email }) => {
      const answer = await issue(id, { kind: 'signin', ...(email !== '' && { email: String(email) }) });
      if ('url' in answer) setLink(answer);
    },
  });
  if (link === undefined) return <FormView form={form} layout="drawer" action="Create sign-in link" />;
  return (
    <div className="drawer-form">
      <p>
        Signs in once as <strong className="wrap">{link.email}</strong>, until <Time value={link.expires} />.
      </p>
      <div className="settings-actions">
        <a
          className="button"
          data-tone="primary"
          href={link.url}
          target="_blank"
          rel="noreferrer"
          // It works once.
          onClick={onClose}
        >
          <ExternalLink size={14} aria-hidden />
          Open dashboard
        </a>
        <CopyButton text={link.url} label="Copy the link" small={false} />
      </div>
    </div>
  );
}
