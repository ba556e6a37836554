import { FlagOption, TextOption } from './option-controls.tsx';
import { TypeOptions, type TypeOptionsProps } from './type-options.tsx';

interface FieldOptionsProps extends TypeOptionsProps {
  readonly isUnique: boolean;
  /** Undefined where an index makes no sense. */
  readonly onUnique: ((isUnique: boolean) => void) | undefined;
}

/** The options of a field, in its place in the list. */
export function FieldOptions(props: FieldOptionsProps) {
  const { field, errorOf, onChange, isUnique, onUnique } = props;
  return (
    <div className="schema-options">
      <div className="schema-grid">
        <TypeOptions {...props} />
      </div>
      <div className="schema-flags">
        {'required' in field && (
          <FlagOption
            label="Required"
            help={field.type === 'bool' ? 'Must be true.' : 'Cannot be blank.'}
            value={field.required}
            error={errorOf('required')}
            isDisabled={field.type === 'text' && field.primaryKey}
            onChange={(required) => onChange({ ...field, required })}
          />
        )}
        {onUnique !== undefined && (
          <FlagOption
            label="Unique"
            help="Unique: no two records may have the same value. Creates an index."
            value={isUnique}
            onChange={onUnique}
          />
        )}
        <FlagOption
          label="Presentable"
          help="Used as the record’s title."
          value={field.presentable}
          onChange={(presentable) => onChange({ ...field, presentable })}
        />
        <FlagOption
          label="Hidden"
          help="Visible to superusers only."
          value={field.hidden}
          error={errorOf('hidden')}
          onChange={(hidden) => onChange({ ...field, hidden })}
        />
      </div>
      {'help' in field && (
        <TextOption
          label="Help"
          help="Shown below the field in forms."
          value={field.help}
          error={errorOf('help')}
          onChange={(help) => onChange({ ...field, help })}
        />
      )}
    </div>
  );
}
