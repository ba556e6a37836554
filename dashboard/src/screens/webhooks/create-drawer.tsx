import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { endpointActions, type NewEndpoint } from '../../api/endpoints.ts';
import type { Schemas } from '../../api/schema.ts';
import { Drawer } from '../../parts/drawer.tsx';
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
  return (
    <Drawer title={made === undefined ? 'New endpoint' : 'Endpoint created'} onClose={onClose}>
      {made === undefined ? (
        <CreateForm hasCatcher={hasCatcher} onMade={setMade} />
      ) : (
        <CreatedEndpoint endpoint={made} onClose={onClose} />
      )}
    </Drawer>
  );
}

interface CreateFormProps {
  readonly hasCatcher: boolean;
  readonly onMade: (endpoint: NewEndpoint) => void;
}

function CreateForm({ hasCatcher, onMade }: CreateFormProps) {
  const queries = useQueryClient();
  return (
    <EndpointForm
      save={async (options) =>
        // A new endpoint has every option of the form, and the form every option of an endpoint.
        onMade(await endpointActions(queries).create(options as unknown as Schemas['EndpointCreate']))
      }
      hasCatcher={hasCatcher}
    />
  );
}
