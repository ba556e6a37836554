import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { call } from '../../api/client.ts';
import { Button } from '../../parts/button.tsx';
import { Confirm } from '../../parts/confirm.tsx';

/** Removes what the log keeps of a record in an event, for whoever may change webhooks. */
export function ExpungeBody({ event }: { readonly event: string }) {
  const [isAsked, setAsked] = useState(false);
  const queries = useQueryClient();
  return (
    <>
      <Button onClick={() => setAsked(true)}>Remove the body …</Button>
      {isAsked && (
        <Confirm
          title="Remove the body?"
          action="Remove the body"
          typed="remove"
          onClose={() => setAsked(false)}
          onConfirm={async () => {
            await call('DELETE /api/webhooks/events/{id}/body', { path: { id: event } });
            await queries.invalidateQueries();
          }}
        >
          The body, its hidden fields and the receivers’ responses are permanently deleted. The event stays in
          the log. Pending deliveries are cancelled, and none can be resent.
        </Confirm>
      )}
    </>
  );
}
