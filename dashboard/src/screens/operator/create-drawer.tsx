import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { type CreatedInstance, operatorKeys } from '../../api/operator.ts';
import { callOperator } from '../../api/operator-session.ts';
import type { Schemas } from '../../api/schema.ts';
import { Button } from '../../parts/button.tsx';
import { Code } from '../../parts/code.tsx';
import { Drawer } from '../../parts/drawer.tsx';
import { LinkButton } from '../../parts/empty.tsx';
import type { Values } from '../../parts/form/field.ts';
import { FormView } from '../../parts/form/form-view.tsx';
import { useForm } from '../../parts/form/use-form.ts';
import { Section } from '../../parts/section.tsx';
import { SecretOnce } from '../../parts/secret-once.tsx';
import { newInstanceParts, withQuotas } from './instance-fields.ts';
import { newInstanceValues } from './instance-values.ts';

/** Makes an instance, and then shows its URL and the secrets of its endpoints. */
export function CreateDrawer({ onClose }: { readonly onClose: () => void }) {
  const queries = useQueryClient();
  const [made, setMade] = useState<CreatedInstance>();
  const form = useForm({
    name: 'instance:new',
    parts: newInstanceParts,
    values: newInstanceValues,
    isNew: true,
    save: async (body) => {
      setMade(await callOperator('POST /api/operator/instances', { body: toBody(body) }));
      await queries.invalidateQueries({ queryKey: operatorKeys.all });
    },
  });
  return (
    <Drawer title={made === undefined ? 'New instance' : 'Instance created'} onClose={onClose}>
      {made === undefined ? (
        <FormView form={form} layout="drawer" action="Create instance" />
      ) : (
        <Created instance={made} onClose={onClose} />
      )}
    </Drawer>
  );
}

/** Returns what was typed without what was left empty. */
function toBody(values: Values): Schemas['ManagedInstanceCreate'] {
  // The fields of the form are the members of a new instance; of its endpoints it has the first.
  const body = withQuotas(values, {}) as unknown as Required<Schemas['ManagedInstanceCreate']>;
  const { template, superuser, endpoints, ...rest } = body;
  const hooks = Object.values(endpoints).filter(({ url }) => url !== '');
  return {
    ...rest,
    ...(template !== '' && { template }),
    ...((superuser.email !== '' || superuser.password !== '') && { superuser }),
    ...(hooks.length > 0 && { endpoints: hooks }),
  };
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
        <Section level={3} title="URL">
          <Code text={url} />
        </Section>
        {endpoints.map((endpoint) => (
          <SecretOnce key={endpoint.id} secret={endpoint.secret} warnings={[]} />
        ))}
      </div>
      <div className="drawer-foot">
        <LinkButton link={{ to: '/operator/instances/$instance', params: { instance: id } }}>
          Open the instance
        </LinkButton>
        <span className="drawer-foot-note" />
        <Button tone="primary" onClick={onClose}>
          Done
        </Button>
      </div>
    </div>
  );
}
