import { useQuery } from '@tanstack/react-query';
import Eye from 'lucide-react/icons/eye';
import { useId, useRef, useState, type RefObject } from 'react';
import { isInFeed, fetchSecret, maySign, signedRequestQuery } from '../../api/deliveries.ts';
import { type Attempt, type Delivery, eventQuery } from '../../api/events.ts';
import type { Schemas } from '../../api/schema.ts';
import { mayChangeWebhooks } from '../../api/session.ts';
import { Button } from '../../parts/button.tsx';
import { useAttempt } from '../../parts/attempt-form.tsx';
import { TextToCopy } from '../../parts/copy-button.tsx';
import { Facts } from '../../parts/facts.tsx';
import { InputField, LabelledField } from '../../parts/labelled-field.tsx';
import { FailureNotice, Notice } from '../../parts/notice.tsx';
import { parseTime } from '../../parts/time.tsx';
import {
  bodySignature,
  canSign,
  compareSignature,
  type SignatureVerdict,
  standardSignature,
} from './signature.ts';

interface SignatureTabProps {
  readonly delivery: Delivery;
  readonly attempt: Attempt | undefined;
  readonly isEndpointThere: boolean;
}

/** Signs the webhook again, here in the browser, and compares it with what a receiver got. The secret goes nowhere. */
export function SignatureTab({ delivery, attempt, isEndpointThere }: SignatureTabProps) {
  const { data: event, error, refetch } = useQuery(eventQuery(delivery.event));
  if (error !== null) return <FailureNotice error={error} onRetry={() => void refetch()} />;
  if (event === undefined) return <span className="placeholder" style={{ inlineSize: 240 }} aria-busy />;
  if (!canSign())
    return <Notice>Browsers can sign only over HTTPS or on localhost. Open the dashboard over HTTPS.</Notice>;
  return (
    <SignatureForm
      event={event}
      endpoint={delivery.endpoint}
      attempt={attempt}
      isEndpointThere={isEndpointThere}
    />
  );
}

interface SignatureFormProps {
  readonly event: Schemas['EventWithBody'];
  readonly endpoint: string;
  readonly attempt: Attempt | undefined;
  readonly isEndpointThere: boolean;
}

interface Outcome {
  readonly standard: string;
  readonly ofBody: string;
  /** Undefined where there was nothing to compare with. */
  readonly verdict: SignatureVerdict | undefined;
}

function SignatureForm(props: SignatureFormProps) {
  const { endpoint, attempt, isEndpointThere } = props;
  const secret = useRef<HTMLInputElement>(null);
  const { error, attempt: run } = useAttempt();
  const { outcome, forget, compare } = useComparison(props, secret);
  const reveal = (): void =>
    run(async () => {
      const text = await fetchSecret(endpoint);
      // By its property: as an attribute it would stand in the source of the page.
      if (secret.current !== null) secret.current.value = text;
    });
  return (
    <form
      className="signature-form"
      onChange={forget}
      onSubmit={(submit) => {
        submit.preventDefault();
        void compare(new FormData(submit.currentTarget));
      }}
    >
      <p className="soft">
        Signs this webhook in your browser and compares it with what your receiver got. The secret stays in
        your browser.
      </p>
      <SecretField input={secret} canReveal={isEndpointThere && mayChangeWebhooks()} onReveal={reveal} />
      {error !== undefined && <FailureNotice error={error} />}
      <ReceivedFields attempt={attempt} />
      <div>
        <Button type="submit" tone="primary">
          Compare
        </Button>
      </div>
      {outcome !== undefined && <OutcomeView outcome={outcome} />}
    </form>
  );
}

function useComparison(
  { event, endpoint, isEndpointThere }: SignatureFormProps,
  secret: RefObject<HTMLInputElement | null>,
) {
  const [outcome, setOutcome] = useState<Outcome>();
  const request = useQuery({
    ...signedRequestQuery(event, endpoint),
    enabled: isEndpointThere && isInFeed(event.kind) && maySign(),
  });
  const sent = request.data?.body ?? JSON.stringify(event.body);
  const compare = async (form: FormData): Promise<void> => {
    const input = {
      secret: secret.current?.value.trim() ?? '',
      id: event.id,
      timestamp: textOf(form, 'timestamp').trim(),
      // Forms write line ends as CR LF.
      body: textOf(form, 'body').replaceAll('\r\n', '\n') || sent,
    };
    const received = textOf(form, 'received').trim();
    const reference = { body: sent, bodySignatures: bodySignaturesOf(request.data?.headers) };
    setOutcome({
      standard: await standardSignature(input),
      ofBody: await bodySignature(input),
      verdict: received === '' ? undefined : await compareSignature(input, received, reference),
    });
  };
  return { outcome, forget: () => setOutcome(undefined), compare };
}

function bodySignaturesOf(headers: Readonly<Record<string, string>> = {}): readonly string[] {
  const names = ['X-Service-Signature', 'X-Service-Signature-Previous'];
  return names.flatMap((name) => headers[name] ?? []);
}

function textOf(form: FormData, name: string): string {
  const value = form.get(name);
  return typeof value === 'string' ? value : '';
}

interface SecretFieldProps {
  readonly input: RefObject<HTMLInputElement | null>;
  readonly canReveal: boolean;
  readonly onReveal: () => void;
}

function SecretField({ input, canReveal, onReveal }: SecretFieldProps) {
  const id = useId();
  return (
    <LabelledField id={id} label="Secret" isRequired>
      <div className="input-group">
        <input
          id={id}
          className="input mono"
          ref={input}
          type="password"
          required
          autoComplete="off"
          spellCheck={false}
          placeholder="whsec_…"
        />
        <Button icon={Eye} disabled={!canReveal} onClick={onReveal}>
          Use the endpoint’s
        </Button>
      </div>
    </LabelledField>
  );
}

function ReceivedFields({ attempt }: { readonly attempt: Attempt | undefined }) {
  const id = useId();
  const seconds = useState(() => secondsOf(attempt))[0];
  return (
    <>
      <InputField
        name="received"
        label="Signature your receiver got"
        help="The whole webhook-signature or X-Service-Signature header. Leave empty to see the correct ones."
        isMono
      />
      <InputField
        name="timestamp"
        label="webhook-timestamp"
        help="Seconds since 1970; set to the time of this attempt."
        isMono
        inputMode="numeric"
        defaultValue={seconds}
      />
      <LabelledField
        id={`${id}-body`}
        label="Body your receiver verified"
        help="Leave empty to use the sent body."
      >
        <textarea id={`${id}-body`} name="body" className="input mono" rows={2} spellCheck={false} />
      </LabelledField>
    </>
  );
}

function secondsOf(attempt: Attempt | undefined): string {
  const started = attempt === undefined ? new Date() : parseTime(attempt.started);
  return started === undefined ? '' : String(Math.floor(started.getTime() / 1_000));
}

function OutcomeView({ outcome: { standard, ofBody, verdict } }: { readonly outcome: Outcome }) {
  return (
    <div className="signature-outcome" aria-live="polite">
      {verdict?.kind === 'match' && (
        <Notice tone="ok">
          The signature is correct: it is the {verdict.scheme} of this body with this secret. If your receiver
          rejects it, it verifies different bytes, or its clock is off by more than five minutes.
        </Notice>
      )}
      {verdict?.kind === 'differs' && <Notice tone="failed">The signature is wrong. {verdict.reason}</Notice>}
      <Facts
        items={{
          'webhook-signature': <TextToCopy text={standard} label="Copy webhook-signature" />,
          'X-Service-Signature': <TextToCopy text={ofBody} label="Copy X-Service-Signature" />,
        }}
      />
    </div>
  );
}
