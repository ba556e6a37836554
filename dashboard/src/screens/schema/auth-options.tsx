import ChevronRight from 'lucide-react/icons/chevron-right';
import { lazy, Suspense, useState } from 'react';
import type { Collection } from '../../api/client.ts';
import { accountParts, secondFactorRule, signInParts, tokenLifetimes } from '../../parts/account-parts.ts';
import type { Field, Part } from '../../parts/form/field.ts';
import { PartViews } from '../../parts/form/form-view.tsx';
import { useBoundForm } from '../../parts/form/use-bound-form.ts';
import { mailTemplates, templateFields } from '../../parts/mail-templates.ts';
import { FailureNotice } from '../../parts/notice.tsx';
import { PlaceholderLines } from '../../parts/placeholder-lines.tsx';
import { type DraftHandle, toCheckedInput } from './definition-draft.ts';
import { RuleInput } from './rule-input.tsx';

interface AuthOptionsProps {
  readonly draft: DraftHandle;
  readonly collections: readonly Collection[];
  readonly errors: ReadonlyMap<string, string>;
}

/** How accounts sign in, how long their tokens last, and what they get by mail. */
export function AuthOptions({ draft, collections, errors }: AuthOptionsProps) {
  const stored = collections.find(({ id }) => id === draft.next.id);
  const form = useBoundForm({
    parts: [
      ...signInParts(draft.next),
      ...(stored === undefined ? [] : [providersPart(stored)]),
      ...accountParts(ruleOfSecondFactor(draft, collections)),
      { kind: 'fold', title: 'Token lifetimes', parts: tokenLifetimes },
      ...mailTemplates.map((template): Part => ({
        kind: 'fold',
        title: `Mail: ${template.label}`,
        parts: templateFields(template, draft.next),
      })),
    ],
    values: draft.next,
    prefix: 'account-',
    errors: new Map([...errors].filter(([path]) => isAccountOption(path))),
    onChange: draft.change,
  });
  return (
    <div className="form-fields">
      <PartViews form={form} parts={form.parts} />
      {form.failure !== undefined && <FailureNotice error={form.failure} />}
    </div>
  );
}

/** Whether a problem is about none of what stands above: the name, fields, rules and indexes. */
function isAccountOption(path: string): boolean {
  return /^(?:passwordAuth|otp|mfa|authAlert|webhooks|\w+Token|\w+Template)\b/.test(path);
}

function ruleOfSecondFactor(draft: DraftHandle, collections: readonly Collection[]): Field {
  const { label } = secondFactorRule;
  const isNew = !collections.some(({ id }) => id === draft.base.id);
  return {
    ...secondFactorRule,
    kind: 'custom',
    control: ({ id, input, error, onChange }) => (
      <RuleInput
        {...{ id, label, error, onChange, collections }}
        value={typeof input === 'string' ? input : ''}
        collection={draft.next}
        definition={toCheckedInput(draft, isNew)}
      />
    ),
  };
}

function providersPart(collection: Collection): Part {
  return { kind: 'note', id: 'providers', note: () => <Providers collection={collection} /> };
}

// Loaded when it is opened.
const ProviderOptions = lazy(async () => ({
  default: (await import('./provider-options.tsx')).ProviderOptions,
}));

/** Providers of a collection that is stored. */
function Providers({ collection }: { readonly collection: Collection }) {
  const [isOpen, setIsOpen] = useState(false);
  return (
    <details className="endpoint-more" onToggle={(event) => setIsOpen(event.currentTarget.open)}>
      <summary>
        <ChevronRight size={13} aria-hidden />
        Sign-in providers
      </summary>
      {isOpen && (
        <Suspense fallback={<PlaceholderLines count={2} />}>
          <ProviderOptions collection={collection} />
        </Suspense>
      )}
    </details>
  );
}
