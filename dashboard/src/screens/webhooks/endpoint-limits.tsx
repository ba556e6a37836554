import { choicesOf } from '../../api/members-of.ts';
import { isBoundToEndpoints } from '../../api/session.ts';
import { errorAttributes, LabelledField } from '../../parts/labelled-field.tsx';
import type { EndpointValues, Order } from './endpoint-values.ts';

interface EndpointLimitsProps {
  readonly values: EndpointValues;
  readonly onChange: (change: Partial<EndpointValues>) => void;
  readonly problems: ReadonlyMap<string, string>;
}

const orders = choicesOf<Order>({
  none: 'None: in parallel, in any order',
  record: 'By record: changes of the same record in order',
  strict: 'Strict: one at a time, everything in order',
});

/** What most endpoints leave as it is. */
export function EndpointLimits({ values, onChange, problems }: EndpointLimitsProps) {
  const numbers = { values, onChange, problems };
  return (
    <div className="endpoint-limits">
      {!isBoundToEndpoints() && <NameFields values={values} onChange={onChange} problems={problems} />}
      <LabelledField
        id="endpoint-headers"
        label="Headers"
        help="One per line, sent with each request. Values that look secret are shown as ********; leave that to keep them."
        error={messageOf(problems, 'headers')}
      >
        <textarea
          id="endpoint-headers"
          className="input mono"
          rows={2}
          placeholder="X-Shop: berlin"
          value={values.headers}
          spellCheck={false}
          onChange={(event) => onChange({ headers: event.target.value })}
          {...errorAttributes('endpoint-headers', messageOf(problems, 'headers'))}
        />
      </LabelledField>
      <LabelledField
        id="endpoint-contact"
        label="Contact"
        help="Gets a mail when the endpoint has failed for an hour, is disabled, or works again."
        error={problems.get('contact')}
      >
        <input
          id="endpoint-contact"
          className="input"
          type="email"
          placeholder="on-call@example.com"
          value={values.contact}
          autoComplete="off"
          onChange={(event) => onChange({ contact: event.target.value })}
          {...errorAttributes('endpoint-contact', problems.get('contact'))}
        />
      </LabelledField>
      {!isBoundToEndpoints() && <TokenFields values={values} onChange={onChange} problems={problems} />}
      {!isBoundToEndpoints() && <PayloadFields values={values} onChange={onChange} problems={problems} />}
      <OrderFields values={values} onChange={onChange} problems={problems} />
      <div className="endpoint-numbers">
        <NumberField {...numbers} name="timeoutMs" label="Timeout, ms" help="1,000 to 30,000" />
        <NumberField {...numbers} name="maxInFlight" label="Concurrent requests" help="1 to 64" />
        <NumberField {...numbers} name="rateLimit" label="Requests per second" help="0 for no limit" />
        <NumberField
          {...numbers}
          name="maxAgeSeconds"
          label="Expires after, seconds"
          help="Empty for never"
        />
      </div>
    </div>
  );
}

const tokenMembers = [
  { name: 'tokenUrl', label: 'Token URL', placeholder: 'https://login.example.com/oauth2/token' },
  { name: 'clientId', label: 'Client ID', placeholder: '' },
  { name: 'clientSecret', label: 'Client secret', placeholder: '' },
  { name: 'scope', label: 'Scope', placeholder: 'optional' },
  { name: 'audience', label: 'Audience', placeholder: 'optional' },
] as const;

/** How requests get a token of OAuth 2.0. */
function TokenFields({ values: { hasToken, token }, onChange, problems }: EndpointLimitsProps) {
  const error = problems.get('oauth2');
  return (
    <>
      <Check
        label="Authorize requests with an OAuth 2.0 token"
        isOn={hasToken}
        onChange={(isOn) => onChange({ hasToken: isOn })}
      />
      {error !== undefined && <p className="field-error">{error}</p>}
      {hasToken &&
        tokenMembers.map(({ name, label, placeholder }) => (
          <LabelledField
            key={name}
            id={`endpoint-${name}`}
            label={label}
            error={problems.get(`oauth2.${name}`)}
            help={name === 'clientSecret' ? 'Shown as ********; leave that to keep it.' : undefined}
          >
            <input
              id={`endpoint-${name}`}
              className="input mono"
              type={name === 'clientSecret' ? 'password' : 'text'}
              placeholder={placeholder}
              value={token[name]}
              spellCheck={false}
              autoComplete={name === 'clientSecret' ? 'new-password' : 'off'}
              onChange={(event) => onChange({ token: { ...token, [name]: event.target.value } })}
              {...errorAttributes(`endpoint-${name}`, problems.get(`oauth2.${name}`))}
            />
          </LabelledField>
        ))}
    </>
  );
}

const payloads = choicesOf<EndpointValues['payload']>({
  full: 'The record',
  thin: 'Only its id; the receiver fetches the record',
  previous: 'The record, and its values before the change',
});

/** What endpoints as code call it, and whose it is. */
function NameFields({ values, onChange, problems }: EndpointLimitsProps) {
  return (
    <>
      <LabelledField
        id="endpoint-name"
        label="Name"
        help="What the command line and “As code” call it."
        error={messageOf(problems, 'name')}
      >
        <input
          id="endpoint-name"
          className="input mono"
          placeholder="shop"
          value={values.name}
          maxLength={100}
          spellCheck={false}
          autoComplete="off"
          onChange={(event) => onChange({ name: event.target.value })}
          {...errorAttributes('endpoint-name', messageOf(problems, 'name'))}
        />
      </LabelledField>
      <LabelledField
        id="endpoint-owner"
        label="Owner"
        help="An account: the endpoint then gets only what that account may view."
        error={messageOf(problems, 'owner')}
      >
        <input
          id="endpoint-owner"
          className="input mono"
          placeholder="users/r4nd0m1d0000001"
          value={values.owner}
          spellCheck={false}
          autoComplete="off"
          onChange={(event) => onChange({ owner: event.target.value })}
          {...errorAttributes('endpoint-owner', messageOf(problems, 'owner'))}
        />
      </LabelledField>
    </>
  );
}

/** What of a record is sent. */
function PayloadFields({ values, onChange, problems }: EndpointLimitsProps) {
  return (
    <>
      <LabelledField id="endpoint-payload" label="Payload" error={messageOf(problems, 'payload')}>
        <select
          id="endpoint-payload"
          className="input"
          value={values.payload}
          onChange={(event) =>
            onChange({ payload: payloads.find(({ value }) => value === event.target.value)?.value ?? 'full' })
          }
          {...errorAttributes('endpoint-payload', messageOf(problems, 'payload'))}
        >
          {payloads.map(({ value, label }) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </select>
      </LabelledField>
      <LabelledField
        id="endpoint-fields"
        label="Fields"
        help="Separated by commas; empty for all."
        error={messageOf(problems, 'fields')}
      >
        <input
          id="endpoint-fields"
          className="input mono"
          placeholder="id, title, state"
          value={values.fields}
          disabled={values.payload === 'thin'}
          spellCheck={false}
          autoComplete="off"
          onChange={(event) => onChange({ fields: event.target.value })}
          {...errorAttributes('endpoint-fields', messageOf(problems, 'fields'))}
        />
      </LabelledField>
      <Check
        label="Add CloudEvents headers"
        isOn={values.cloudEvents}
        onChange={(cloudEvents) => onChange({ cloudEvents })}
      />
    </>
  );
}

function OrderFields({ values, onChange, problems }: EndpointLimitsProps) {
  return (
    <>
      <LabelledField id="endpoint-order" label="Order" error={problems.get('order')}>
        <select
          id="endpoint-order"
          className="input"
          value={values.order}
          onChange={(event) => {
            const order = orders.find(({ value }) => value === event.target.value)?.value ?? 'none';
            onChange({ order, onExhausted: order === 'strict' ? 'pause' : 'skip' });
          }}
        >
          {orders.map(({ value, label }) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </select>
      </LabelledField>
      {values.order === 'strict' && (
        <Check
          label="Pause when a delivery fails for good"
          isOn={values.onExhausted === 'pause'}
          onChange={(isOn) => onChange({ onExhausted: isOn ? 'pause' : 'skip' })}
        />
      )}
      <Check
        label="Send only the latest waiting change of a record"
        isOn={values.coalesce}
        onChange={(coalesce) => onChange({ coalesce })}
      />
    </>
  );
}

/** Of a member, or of the first of its own members that has a problem. */
function messageOf(problems: ReadonlyMap<string, string>, name: string): string | undefined {
  const own = problems.get(name);
  if (own !== undefined) return own;
  const inner = [...problems].find(([path]) => path.startsWith(`${name}.`));
  return inner === undefined ? undefined : `${inner[0].slice(name.length + 1)}: ${inner[1]}`;
}

interface CheckProps {
  readonly label: string;
  readonly isOn: boolean;
  readonly onChange: (isOn: boolean) => void;
}

function Check({ label, isOn, onChange }: CheckProps) {
  return (
    <label className="check">
      <input type="checkbox" checked={isOn} onChange={(event) => onChange(event.target.checked)} />
      {label}
    </label>
  );
}

interface NumberFieldProps extends EndpointLimitsProps {
  readonly name: 'timeoutMs' | 'maxInFlight' | 'rateLimit' | 'maxAgeSeconds';
  readonly label: string;
  readonly help: string;
}

function NumberField({ values, onChange, problems, name, label, help }: NumberFieldProps) {
  const id = `endpoint-${name}`;
  return (
    <LabelledField id={id} label={label} help={help} error={problems.get(name)}>
      <input
        id={id}
        className="input"
        inputMode="numeric"
        value={values[name]}
        autoComplete="off"
        onChange={(event) => onChange({ [name]: event.target.value })}
        {...errorAttributes(id, problems.get(name))}
      />
    </LabelledField>
  );
}
