import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { cloneInstance, type ManagedInstance, operatorKeys } from '../../api/operator.ts';
import { useAttempt } from '../../parts/attempt-form.tsx';
import { Drawer } from '../../parts/drawer.tsx';
import { showToast } from '../../parts/toast.tsx';
import { DrawerForm, fieldsOf } from './drawer-form.tsx';
import { TextField } from './text-field.tsx';

interface CloneDrawerProps {
  readonly instance: ManagedInstance;
  readonly onClose: () => void;
}

/** Copies an instance into a new one, and goes there. */
export function CloneDrawer({ instance: { id, slug: source }, onClose }: CloneDrawerProps) {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [slug, setSlug] = useState(`${source}-copy`);
  const { error, isBusy, attempt } = useAttempt();
  return (
    <Drawer title={`Clone ${source}`} onClose={onClose}>
      <DrawerForm
        error={error}
        isBusy={isBusy}
        action={isBusy ? 'Copying …' : 'Clone'}
        onSubmit={() =>
          attempt(async () => {
            const copy = await cloneInstance(id, slug.trim());
            showToast(`${source} is copied to ${copy.slug}.`);
            await queries.invalidateQueries({ queryKey: operatorKeys.all });
            await navigate({ to: '/operator/instances/$instance', params: { instance: copy.id } });
          })
        }
      >
        <TextField
          id="clone-slug"
          label="Slug of the copy"
          help="Copies everything. The endpoints of the copy are paused."
          value={slug}
          error={fieldsOf(error).get('slug')}
          autoFocus
          onChange={setSlug}
        />
      </DrawerForm>
    </Drawer>
  );
}
