import Plus from 'lucide-react/icons/plus';
import Trash2 from 'lucide-react/icons/trash-2';
import { choicesOf } from '../../api/members-of.ts';
import type { Settings } from '../../api/settings.ts';
import { Button, IconButton } from '../../parts/button.tsx';
import { DraftForm, Group, LinesSetting, SwitchSetting } from './draft-fields.tsx';
import type { Draft } from './use-draft.ts';
import { useSettingsDraft } from './use-settings-draft.ts';

type Rule = Settings['rateLimits']['rules'][number];

const audiences = choicesOf<Rule['audience']>({ '': 'everybody', '@guest': 'guests', '@auth': 'accounts' });

/** How many requests clients may send. */
export function RateLimitSection({ settings }: { readonly settings: Settings }) {
  const draft = useSettingsDraft('rate-limits', settings);
  return (
    <DraftForm draft={draft}>
      <Group
        title="Rate limits"
        lead="Superusers and API keys are never limited. One rule applies to a request: the most exact one."
      >
        <SwitchSetting draft={draft} path="rateLimits.enabled" label="Limit requests" />
        <Rules draft={draft} />
      </Group>
      <Group title="Exceptions">
        <LinesSetting
          draft={draft}
          path="rateLimits.excludedIPs"
          label="Addresses that are never limited"
          placeholder="192.0.2.0/24"
          help="Addresses and ranges."
        />
      </Group>
    </DraftForm>
  );
}

const path = 'rateLimits.rules';

function Rules({ draft }: { readonly draft: Draft }) {
  // The settings have rules here, and the draft is one of them.
  const rules = draft.value(path) as readonly Rule[];
  const change = (index: number, members: Partial<Rule>): void =>
    draft.set(
      path,
      rules.map((rule, at) => (at === index ? { ...rule, ...members } : rule)),
    );
  const error = draft.error(path);
  return (
    <div className="field">
      <div className="panel settings-scroll">
        <table className="counts settings-rules">
          <thead>
            <tr>
              <th scope="col">What it limits</th>
              <th scope="col">Of</th>
              <th scope="col">Requests</th>
              <th scope="col">In seconds</th>
              <th scope="col">
                <span className="unseen">Remove</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {rules.map((rule, index) => (
              // A rule has no name of its own: two may be equal while one is typed.
              <RuleRow
                key={index}
                rule={rule}
                index={index}
                draft={draft}
                onChange={(members) => change(index, members)}
                onRemove={() =>
                  draft.set(
                    path,
                    rules.filter((_, at) => at !== index),
                  )
                }
              />
            ))}
          </tbody>
        </table>
      </div>
      {error !== undefined && (
        <p className="field-error" role="alert">
          {error}
        </p>
      )}
      <div>
        <Button
          onClick={() =>
            draft.set(path, [...rules, { label: '', audience: '', duration: 10, maxRequests: 100 }])
          }
        >
          <Plus size={14} aria-hidden />
          Add a rule
        </Button>
      </div>
      <p className="field-help">
        <code className="settings-code">posts:create</code> an action on a collection,{' '}
        <code className="settings-code">*:create</code> on all,{' '}
        <code className="settings-code">/api/batch</code> a path, <code className="settings-code">/api/</code>{' '}
        all below it.
      </p>
    </div>
  );
}

interface RuleRowProps {
  readonly rule: Rule;
  readonly index: number;
  readonly draft: Draft;
  readonly onChange: (members: Partial<Rule>) => void;
  readonly onRemove: () => void;
}

function RuleRow({ rule, index, draft, onChange, onRemove }: RuleRowProps) {
  const errorOf = (name: string): string | undefined => draft.error(`${path}.${index}.${name}`);
  const control = (name: string, label: string) => ({
    className: 'input',
    'aria-label': `${label} of rule ${index + 1}`,
    'aria-invalid': errorOf(name) !== undefined,
  });
  const messages = ['label', 'audience', 'maxRequests', 'duration'].flatMap((name) => errorOf(name) ?? []);
  return (
    <>
      <tr>
        <td>
          <input
            {...control('label', 'Label')}
            value={rule.label}
            spellCheck={false}
            onChange={(event) => onChange({ label: event.target.value })}
          />
        </td>
        <td>
          <select
            {...control('audience', 'Audience')}
            value={rule.audience}
            onChange={(event) =>
              onChange({ audience: audiences.find(({ value }) => value === event.target.value)?.value ?? '' })
            }
          >
            {audiences.map(({ value, label }) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </select>
        </td>
        <td>
          <input
            {...control('maxRequests', 'Requests')}
            type="number"
            value={rule.maxRequests}
            onChange={(event) => onChange({ maxRequests: Number(event.target.value) })}
          />
        </td>
        <td>
          <input
            {...control('duration', 'Seconds')}
            type="number"
            value={rule.duration}
            onChange={(event) => onChange({ duration: Number(event.target.value) })}
          />
        </td>
        <td>
          <IconButton small label={`Remove rule ${index + 1}`} onClick={onRemove}>
            <Trash2 size={14} aria-hidden />
          </IconButton>
        </td>
      </tr>
      {messages.length > 0 && (
        <tr>
          <td colSpan={5}>
            <p className="field-error" role="alert">
              {messages.join(' ')}
            </p>
          </td>
        </tr>
      )}
    </>
  );
}
