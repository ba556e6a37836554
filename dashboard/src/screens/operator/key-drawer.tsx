import { useState } from 'react';
import type { KeyScope } from '../../api/keys.ts';
import { issueKey, type ManagedInstance } from '../../api/operator.ts';
import { useAttempt } from '../../parts/attempt-form.tsx';
import { Drawer } from '../../parts/drawer.tsx';
import { ExpiryField, KeyOnce, NameField, ScopeBoxes } from '../../parts/key-fields.tsx';
import { DrawerForm, fieldsOf } from './drawer-form.tsx';

interface KeyDrawerProps {
  readonly instance: ManagedInstance;
  readonly onClose: () => void;
}

/** Makes an API key of an instance, and shows it once. */
export function KeyDrawer({ instance: { id, slug }, onClose }: KeyDrawerProps) {
  const [name, setName] = useState('');
  const [scopes, setScopes] = useState<readonly KeyScope[]>([]);
  const [expires, setExpires] = useState('');
  const [made, setMade] = useState('');
  const { error, isBusy, attempt } = useAttempt();
  const errors = fieldsOf(error);
  return (
    <Drawer title={`API key for ${slug}`} onClose={onClose}>
      {made === '' ? (
        <DrawerForm
          error={error}
          isBusy={isBusy}
          action="Issue key"
          onSubmit={() =>
            attempt(async () => {
              const until = expires === '' ? '' : new Date(expires).toISOString();
              setMade(await issueKey(id, { name, scopes, expires: until }));
            })
          }
        >
          <NameField name={name} error={errors.get('name')} onChange={setName} />
          <ScopeBoxes scopes={scopes} error={errors.get('scopes')} onChange={setScopes} />
          <ExpiryField expires={expires} error={errors.get('expires')} onChange={setExpires} />
        </DrawerForm>
      ) : (
        <div className="drawer-form">
          <KeyOnce text={made} />
        </div>
      )}
    </Drawer>
  );
}
