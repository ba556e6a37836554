import { useQueryClient } from '@tanstack/react-query';
import KeyRound from 'lucide-react/icons/key-round';
import { useState } from 'react';
import { endpointActions } from '../../api/endpoints.ts';
import type { Endpoint } from '../../api/events.ts';
import type { Schemas } from '../../api/schema.ts';
import { Button } from '../../parts/button.tsx';
import { Confirm } from '../../parts/confirm.tsx';
import { RadioList } from '../../parts/radio-list.tsx';
import { parseTime, Time } from '../../parts/time.tsx';
import { SecretOnce } from '../../parts/secret-once.tsx';

type Rotated = Schemas['EndpointSecretRotated'];

const overlaps = [
  { value: 0, label: 'None: the old secret was leaked' },
  { value: 3_600, label: '1 hour' },
  { value: 86_400, label: '1 day' },
  { value: 604_800, label: '7 days' },
] as const;

const standardOverlap = 86_400;

/** Gives an endpoint another secret, while the one before it signs as well. The new one is shown once. */
export function RotateSecret({ endpoint }: { readonly endpoint: Endpoint }) {
  const queries = useQueryClient();
  const [isOpen, setIsOpen] = useState(false);
  const [overlapSeconds, setOverlapSeconds] = useState<number>(standardOverlap);
  const [rotated, setRotated] = useState<Rotated>();
  const until = rotated?.previousSecretUntil ?? endpoint.previousSecretUntil;
  const [now] = useState(() => Date.now());
  const isOverlapping = (parseTime(until)?.getTime() ?? 0) > now;
  return (
    <section className="section" aria-labelledby="secret">
      <h2 id="secret">Secret</h2>
      <p className="soft">
        It signs each request.{' '}
        {isOverlapping && (
          <>
            Until <Time value={until} /> the previous one signs too.
          </>
        )}
      </p>
      {rotated === undefined ? (
        <div>
          <Button icon={KeyRound} onClick={() => setIsOpen(true)}>
            Rotate …
          </Button>
        </div>
      ) : (
        <>
          <SecretOnce secret={rotated.secret} warnings={rotated.warnings} />
          <div>
            <Button onClick={() => setRotated(undefined)}>I have it</Button>
          </div>
        </>
      )}
      {isOpen && (
        <Confirm
          title="Rotate the secret?"
          action="Rotate"
          tone={overlapSeconds === 0 ? 'danger' : 'primary'}
          onClose={() => setIsOpen(false)}
          onConfirm={async () =>
            setRotated(await endpointActions(queries).rotate(endpoint.id, { overlapSeconds }))
          }
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
        </Confirm>
      )}
    </section>
  );
}
