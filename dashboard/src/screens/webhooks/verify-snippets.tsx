import { useState } from 'react';
import { Code } from '../../parts/code.tsx';
import { verifierText } from './verifier-text.ts';

interface Language {
  readonly name: string;
  /** How the secret gets into the program. */
  readonly use: (secret: string) => string;
  /** In docs/verify; empty for the package. */
  readonly file: string;
}

const languages: readonly Language[] = [
  {
    name: 'TypeScript',
    use: (secret) => `// npm install @chancery/webhooks
import { verify } from '@chancery/webhooks';

const secret = ${quoted(secret)};

// The body as bytes or text, before any parsing. It throws an error that says what is wrong.
const webhook = await verify(secret, request.headers, body);`,
    file: '',
  },
  {
    name: 'Node',
    use: (secret) => `const secret = ${quoted(secret)};

verify({
  secret,
  id: request.headers['webhook-id'],
  timestamp: request.headers['webhook-timestamp'],
  signature: request.headers['webhook-signature'],
  body,
  nowSeconds: Date.now() / 1000,
});`,
    file: 'verify.mjs',
  },
  {
    name: 'Python',
    use: (secret) => `import time

secret = ${quoted(secret)}

verify(secret, headers["webhook-id"], headers["webhook-timestamp"], headers["webhook-signature"], body, time.time())`,
    file: 'verify.py',
  },
  {
    name: 'Go',
    use: (secret) => `const secret = ${quoted(secret)}

h := r.Header
Verify(secret, h.Get("webhook-id"), h.Get("webhook-timestamp"), h.Get("webhook-signature"), body, time.Now().Unix())`,
    file: 'verify.go',
  },
  { name: 'Rust', use: (secret) => `const SECRET: &str = ${quoted(secret)};`, file: 'verify.rs' },
  { name: 'PHP', use: (secret) => `$secret = ${singleQuoted(secret)};`, file: 'verify.php' },
  { name: 'Ruby', use: (secret) => `secret = ${singleQuoted(secret)}`, file: 'verify.rb' },
  { name: 'Java', use: (secret) => `String secret = ${quoted(secret)};`, file: 'Verify.java' },
  { name: 'C#', use: (secret) => `var secret = ${quoted(secret)};`, file: 'Verify.cs' },
  { name: 'Shell', use: (secret) => `SECRET=${shellQuoted(secret)}`, file: 'verify.sh' },
];

/** How to verify in one's own language, with this secret in it: what to call, and the whole file to copy. */
export function VerifySnippets({ secret }: { readonly secret: string }) {
  const [shown, setShown] = useState('TypeScript');
  const language = languages.find(({ name }) => name === shown) ?? languages[0];
  return (
    <div className="verify">
      <div className="choices" role="group" aria-label="Language">
        {languages.map(({ name }) => (
          <button
            key={name}
            type="button"
            className="choice"
            aria-pressed={name === shown}
            onClick={() => setShown(name)}
          >
            {name}
          </button>
        ))}
      </div>
      {language !== undefined && (
        <>
          <Code text={language.use(secret)} />
          {language.file !== '' && <Code text={verifierText(language.file)} />}
        </>
      )}
      <p className="field-help">Read the secret from the environment, never from source code.</p>
    </div>
  );
}

/** As JavaScript, Python, Go, Rust, Java and C# write it: a secret is printable ASCII. */
function quoted(secret: string): string {
  return JSON.stringify(secret);
}

function singleQuoted(secret: string): string {
  return `'${secret.replaceAll(/[\\']/g, String.raw`\$&`)}'`;
}

function shellQuoted(secret: string): string {
  return `'${secret.replaceAll("'", String.raw`'\''`)}'`;
}
