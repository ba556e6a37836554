import Plus from 'lucide-react/icons/plus';
import Trash2 from 'lucide-react/icons/trash-2';
import { choicesOf } from '../../api/members-of.ts';
import type { Settings } from '../../api/settings.ts';
import { Button, IconButton } from '../../parts/button.tsx';
import type { ControlProps } from '../../parts/form/field.ts';
import { Segments } from '../../parts/radio-list.tsx';

type Rule = Settings['rateLimits']['rules'][number];

const audiences = choicesOf<Rule['audience']>({ '': 'everybody', '@guest': 'guests', '@auth': 'accounts' });
const path = 'rateLimits.rules';

/** The rules of rate limits: a table, as there are many alike. */
export function RuleTable({ input, form, onChange }: ControlProps) {
  // The settings have rules here, and what is typed is one of them.
  const rules = input as readonly Rule[];
  return (
    <>
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
                isWrong={(name) => form.messages.has(`${path}.${index}.${name}`)}
                onChange={(members) =>
                  onChange(rules.map((one, at) => (at === index ? { ...one, ...members } : one)))
                }
                onRemove={() => onChange(rules.filter((_, at) => at !== index))}
              />
            ))}
          </tbody>
        </table>
      </div>
      <div>
        <Button
          icon={Plus}
          onClick={() => onChange([...rules, { label: '', audience: '', duration: 10, maxRequests: 100 }])}
        >
          Add a rule
        </Button>
      </div>
    </>
  );
}

interface RuleRowProps {
  readonly rule: Rule;
  readonly index: number;
  readonly isWrong: (name: string) => boolean;
  readonly onChange: (members: Partial<Rule>) => void;
  readonly onRemove: () => void;
}

const numbers = [
  { name: 'maxRequests', label: 'Requests' },
  { name: 'duration', label: 'Seconds' },
] as const;

function RuleRow({ rule, index, isWrong, onChange, onRemove }: RuleRowProps) {
  const control = (name: string, label: string) => ({
    className: 'input',
    'aria-label': `${label} of rule ${index + 1}`,
    'aria-invalid': isWrong(name),
  });
  return (
    <tr>
      <td>
        <input
          {...control('label', 'Label')}
          value={rule.label}
          spellCheck={false}
          onChange={({ target }) => onChange({ label: target.value })}
        />
      </td>
      <td>
        <div role="group" aria-label={`Audience of rule ${index + 1}`}>
          <Segments
            choices={audiences}
            value={rule.audience}
            onChange={(audience) => onChange({ audience })}
          />
        </div>
      </td>
      {numbers.map(({ name, label }) => (
        <td key={name}>
          <input
            {...control(name, label)}
            type="number"
            value={rule[name]}
            onChange={({ target }) => onChange({ [name]: Number(target.value) })}
          />
        </td>
      ))}
      <td>
        <IconButton icon={Trash2} small label={`Remove rule ${index + 1}`} onClick={onRemove} />
      </td>
    </tr>
  );
}
