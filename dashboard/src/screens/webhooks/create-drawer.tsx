import { useState } from 'react';
import { type NewEndpoint, useEndpointChange } from '../../api/endpoints.ts';
import type { Schemas } from '../../api/schema.ts';
import { Drawer } from '../../parts/drawer.tsx';
import type { Values } from '../../parts/form/field.ts';
import { CreatedEndpoint } from './created-endpoint.tsx';
import { EndpointForm } from './endpoint-form.tsx';

interface CreateDrawerProps {
  /** It begins with the URL of a catcher. */
  readonly hasCatcher: boolean;
  readonly onClose: () => void;
}

/** Makes an endpoint, and then helps to get the first webhook through. */
export function CreateDrawer({ hasCatcher, onClose }: CreateDrawerProps) {
  const [made, setMade] = useState<NewEndpoint>();
  const change = useEndpointChange();
  const save = async (options: Values): Promise<void> => {
    // A new endpoint has every option of the form, and the form every option of an endpoint.
    const body = options as unknown as Schemas['EndpointCreate'];
    setMade(await change('POST /api/webhooks/endpoints', '', body));
  };
  return (
    <Drawer title={made === undefined ? 'New endpoint' : 'Endpoint created'} onClose={onClose}>
      {made === undefined ? (
        <EndpointForm save={save} hasCatcher={hasCatcher} />
      ) : (
        <CreatedEndpoint endpoint={made} onClose={onClose} />
      )}
    </Drawer>
  );
}
