import KeyRound from 'lucide-react/icons/key-round';
import { useState } from 'react';
import { useEndpointChange } from '../../api/endpoints.ts';
import type { Endpoint } from '../../api/events.ts';
import type { Schemas } from '../../api/schema.ts';
import { Button } from '../../parts/button.tsx';
import { ConfirmButton } from '../../parts/confirm.tsx';
import { RadioList } from '../../parts/radio-list.tsx';
import { Section } from '../../parts/section.tsx';
import { parseTime, Time } from '../../parts/time.tsx';
import { SecretOnce } from '../../parts/secret-once.tsx';

const overlaps = [
  { value: 0, label: 'None: the old secret was leaked' },
  { value: 3_600, label: '1 hour' },
  { value: 86_400, label: '1 day' },
  { value: 604_800, label: '7 days' },
] as const;

const standardOverlap = 86_400;

/** Gives an endpoint another secret, while the one before it signs as well. The new one is shown once. */
export function RotateSecret({ endpoint }: { readonly endpoint: Endpoint }) {
  const change = useEndpointChange();
  const [overlapSeconds, setOverlapSeconds] = useState<number>(standardOverlap);
  const [rotated, setRotated] = useState<Schemas['EndpointSecretRotated']>();
  const until = rotated?.previousSecretUntil ?? endpoint.previousSecretUntil;
  const [now] = useState(() => Date.now());
  const isOverlapping = (parseTime(until)?.getTime() ?? 0) > now;
  return (
    <Section title="Secret">
      <p className="soft">
        It signs each request.{' '}
        {isOverlapping && (
          <>
            Until <Time value={until} /> the previous one signs too.
          </>
        )}
      </p>
      {rotated !== undefined && <SecretOnce secret={rotated.secret} warnings={rotated.warnings} />}
      <div>
        {rotated !== undefined ? (
          <Button onClick={() => setRotated(undefined)}>I have it</Button>
        ) : (
          <ConfirmButton
            label="Rotate …"
            button={{ icon: KeyRound }}
            title="Rotate the secret?"
            action="Rotate"
            tone={overlapSeconds === 0 ? 'danger' : 'primary'}
            onConfirm={async () => {
              const body = { overlapSeconds };
              setRotated(await change('POST /api/webhooks/endpoints/{id}/secret/rotate', endpoint.id, body));
            }}
          >
            <p>
              The next request is signed with the new secret, and with the old one too until the overlap ends,
              so that no webhook is rejected in between.
            </p>
            <RadioList
              label="Both sign for"
              choices={overlaps}
              value={overlapSeconds}
              onChange={setOverlapSeconds}
            />
          </ConfirmButton>
        )}
      </div>
    </Section>
  );
}
