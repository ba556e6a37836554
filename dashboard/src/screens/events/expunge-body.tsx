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
          It goes for good, with what is hidden in it and what receivers have answered. That it happened
          stays. Deliveries that wait are cancelled, and none of its deliveries can be sent again.
        </Confirm>
      )}
    </>
  );
}
