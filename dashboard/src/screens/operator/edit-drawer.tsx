import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { changeInstance, type ManagedInstance, operatorKeys } from '../../api/operator.ts';
import { useAttempt } from '../../parts/attempt-form.tsx';
import { Drawer } from '../../parts/drawer.tsx';
import { showToast } from '../../parts/toast.tsx';
import { DrawerForm, fieldsOf } from './drawer-form.tsx';
import { LabelField, PlaceFields, QuotaFields } from './instance-fields.tsx';
import { encodeInstance, toValues } from './instance-values.ts';

interface EditDrawerProps {
  readonly instance: ManagedInstance;
  readonly onClose: () => void;
}

/** Changes slug, host, labels and quotas. Only what was changed is sent, so that two people can change different things at once. */
export function EditDrawer({ instance, onClose }: EditDrawerProps) {
  const queries = useQueryClient();
  const [before] = useState(() => encodeInstance(toValues(instance)));
  const [values, setValues] = useState(() => toValues(instance));
  const { error, isBusy, attempt } = useAttempt();
  const fields = {
    values,
    errors: fieldsOf(error),
    onChange: (part: Partial<typeof values>) => setValues((known) => ({ ...known, ...part })),
  };
  return (
    <Drawer title={`Edit ${instance.slug}`} onClose={onClose}>
      <DrawerForm
        error={error}
        isBusy={isBusy}
        action="Save"
        onSubmit={() =>
          attempt(async () => {
            await changeInstance(instance.id, changesOf(before, encodeInstance(values)));
            showToast('Saved');
            await queries.invalidateQueries({ queryKey: operatorKeys.all });
            onClose();
          })
        }
      >
        <PlaceFields {...fields} />
        <LabelField {...fields} />
        <QuotaFields {...fields} />
      </DrawerForm>
    </Drawer>
  );
}

type Encoded = ReturnType<typeof encodeInstance>;

function changesOf(before: Encoded, after: Encoded): Partial<Encoded> {
  const names = (['slug', 'host', 'labels', 'quotas'] as const).filter(
    (name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]),
  );
  return Object.fromEntries(names.map((name) => [name, after[name]]));
}
