import ChevronRight from 'lucide-react/icons/chevron-right';
import { errorAttributes, LabelledField } from '../../parts/labelled-field.tsx';
import { type InstanceValues, isByteQuota, quotaLabel, quotaNames } from './instance-values.ts';
import { TextField } from './text-field.tsx';

interface InstanceFieldsProps {
  readonly values: InstanceValues;
  /** What the service says, by member. */
  readonly errors: ReadonlyMap<string, string>;
  readonly onChange: (change: Partial<InstanceValues>) => void;
}

/** Where an instance is. */
export function PlaceFields({ values, errors, onChange }: InstanceFieldsProps) {
  return (
    <>
      <TextField
        id="instance-slug"
        label="Slug"
        value={values.slug}
        error={errors.get('slug')}
        placeholder="acme"
        autoFocus
        onChange={(slug) => onChange({ slug })}
      />
      <TextField
        id="instance-host"
        label="Host"
        aside="optional"
        value={values.host}
        error={errors.get('host')}
        placeholder="acme.example.com"
        onChange={(host) => onChange({ host })}
      />
    </>
  );
}

export function LabelField({ values, errors, onChange }: InstanceFieldsProps) {
  const error = errors.get('labels');
  return (
    <LabelledField id="instance-labels" label="Labels" aside="name=value, one per line" error={error}>
      <textarea
        id="instance-labels"
        className="input mono"
        rows={2}
        value={values.labels}
        spellCheck={false}
        placeholder="plan=pro"
        onChange={(event) => onChange({ labels: event.target.value })}
        {...errorAttributes('instance-labels', error)}
      />
    </LabelledField>
  );
}

/** The quotas, folded away where there are none. */
export function QuotaFields({ values, errors, onChange }: InstanceFieldsProps) {
  const { quotas } = values;
  const hasErrors = [...errors.keys()].some((name) => name.startsWith('quotas'));
  const error = errors.get('quotas');
  return (
    <details className="endpoint-more" open={hasErrors || Object.keys(quotas).length > 0}>
      <summary>
        <ChevronRight size={13} aria-hidden />
        Quotas
      </summary>
      {error !== undefined && <p className="field-error">{error}</p>}
      <div className="endpoint-limits endpoint-numbers">
        {quotaNames.map((name) => (
          <TextField
            key={name}
            id={`quota-${name}`}
            label={quotaLabel(name)}
            value={quotas[name] ?? ''}
            error={errors.get(`quotas.${name}`)}
            placeholder={isByteQuota(name) ? 'No limit, or 5 GiB' : 'No limit'}
            onChange={(text) => onChange({ quotas: { ...quotas, [name]: text } })}
          />
        ))}
      </div>
    </details>
  );
}
