import { CopyButton } from './copy-button.tsx';
import { Section } from './section.tsx';
import { Notice } from './notice.tsx';

interface SecretOnceProps {
  readonly secret: string;
  readonly warnings: readonly string[];
}

/** A signing secret at the only moment at which it shows. */
export function SecretOnce({ secret, warnings }: SecretOnceProps) {
  return (
    <Section level={3} title="Signing secret">
      <div className="secret panel">
        <code>{secret}</code>
        <CopyButton text={secret} label="Copy the secret" />
      </div>
      <p className="field-help">Store it in your receiver’s configuration. It is shown only once.</p>
      {warnings.map((warning) => (
        <Notice key={warning} tone="retrying">
          {warning}
        </Notice>
      ))}
    </Section>
  );
}
