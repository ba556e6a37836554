import type { ReactNode } from 'react';
import type { CompletionList } from '../editor/code-editor.ts';
import type { TextLanguage } from '../editor/text-languages.ts';
import type { Form } from './use-form.ts';

/** Members by name, some of them objects of others: what the API takes and returns. */
export type Values = Readonly<Record<string, unknown>>;

export interface Choice {
  readonly value: string | number;
  readonly label: string;
  readonly help?: string;
}

interface CommonField {
  /** Where its value is: `meta.appName`. */
  readonly path: string;
  readonly label: string;
  /** Of its control; made of the path where it is left out. Two fields of one path need two. */
  readonly id?: string;
  readonly help?: string | ((form: Form) => string);
  /** Beside the label, as the unit. */
  readonly aside?: string;
  readonly placeholder?: string;
  readonly isRequired?: boolean;
  readonly hasFocus?: boolean;
  /** Shown, but not to be changed. */
  readonly isLocked?: boolean;
  /** Shown only then. */
  readonly when?: (form: Form) => boolean;
  /** Which other members change with it, by their paths. */
  readonly also?: (value: unknown) => Values;
  /** It may hold a secret, which drafts must not keep. */
  readonly isSecret?: boolean;
}

export type TextField = CommonField & {
  readonly kind: 'text';
  readonly type?: 'email' | 'url';
  readonly isMono?: boolean;
  /** An empty text means null. */
  readonly isNullable?: boolean;
  /** Of a text of several lines. */
  readonly rows?: number;
  readonly lengthMax?: number;
  /** Files whose text it can be, as `.pem,.crt`. */
  readonly accept?: string;
};

export type NumberField = CommonField & {
  /** `duration` is typed as `2 min`, and `bytes` as `5 GiB`. */
  readonly kind: 'number' | 'duration' | 'bytes';
  /** Of a duration; seconds where it is left out. */
  readonly unit?: 'ms';
  /** An empty text means null. */
  readonly isNullable?: boolean;
  /** An empty text means this, which is shown as one: 0 where it stands for no limit. */
  readonly none?: 0;
  /** A fraction, or a number below 0, is one too. */
  readonly isDecimal?: boolean;
};

export type ListField = CommonField & {
  /** `list`: texts, a line each, or with commas; `delays`: seconds or null for the standard. */
  readonly kind: 'list' | 'delays';
  readonly isInline?: boolean;
};

export type PairsField = CommonField & {
  /** Texts by name, a line each: `plan=pro`. */
  readonly kind: 'pairs';
  readonly sign: ':' | '=';
  readonly rows?: number;
};

export type SecretField = CommonField & {
  /** What is stored is never shown: empty keeps it. */
  readonly kind: 'secret';
  /** Whether there may be one that answers do not even mask. */
  readonly isStored?: boolean;
  readonly isRemovable?: boolean;
  readonly rows?: number;
  readonly accept?: string;
};

export type ChoiceField = CommonField & {
  /** One of a few as radios, one of many by a combobox. */
  readonly kind: 'choice';
  readonly choices: readonly Choice[];
  /** By a combobox, however few there are: as where people add to them. */
  readonly isSearched?: boolean;
};

export type SetField = CommonField & {
  /** Any of them. */
  readonly kind: 'set';
  readonly choices: readonly Choice[];
  /** What none of them means: `All`. */
  readonly all?: string;
};

export type OptionalField = CommonField & {
  /** An object, or null while it is switched off. */
  readonly kind: 'optional';
  readonly fields: readonly Field[];
  /** What its members begin with. */
  readonly blank: Values;
};

export type SwitchField = CommonField & {
  readonly kind: 'switch';
  /** What it switches on: fields with paths of their own. */
  readonly fields?: readonly Field[];
};

export type CodeField = CommonField & {
  /** A text that a program reads. */
  readonly kind: 'code';
  readonly language: TextLanguage;
  readonly rows?: number;
  readonly complete?: (text: string, caret: number, form: Form) => CompletionList;
};

export type CustomField = CommonField & {
  readonly kind: 'custom';
  readonly control: (props: ControlProps) => ReactNode;
};

export interface ControlProps {
  readonly id: string;
  readonly input: unknown;
  readonly error: string | undefined;
  readonly form: Form;
  readonly onChange: (input: unknown) => void;
}

/** One member of what is saved: plain data, from which its control, its text and its place in the body follow. */
export type Field =
  | TextField
  | NumberField
  | ListField
  | PairsField
  | SecretField
  | ChoiceField
  | SetField
  | OptionalField
  | SwitchField
  | CodeField
  | CustomField
  | (CommonField & { readonly kind: 'date' | 'color' });

/** Fields under a title; or folded away, or beside each other. */
export type Part =
  | Field
  | {
      readonly kind: 'group';
      readonly title: string;
      readonly lead?: ReactNode;
      readonly parts: readonly Part[];
    }
  | {
      readonly kind: 'fold';
      readonly title: string;
      readonly note?: (form: Form) => string;
      readonly parts: readonly Part[];
    }
  | { readonly kind: 'row'; readonly parts: readonly Field[] }
  | { readonly kind: 'note'; readonly id: string; readonly note: (form: Form) => ReactNode };

/** Returns the fields of parts, those of optional objects and behind switches too. */
export function fieldsOf(parts: readonly Part[]): readonly Field[] {
  return parts.flatMap((part): readonly Field[] => {
    switch (part.kind) {
      case 'group':
      case 'fold':
      case 'row':
        return fieldsOf(part.parts);
      case 'note':
        return [];
      case 'optional':
        return [part, ...part.fields];
      case 'switch':
        return [part, ...(part.fields ?? [])];
      default:
        return [part];
    }
  });
}

/** Whether the browser must not keep what is typed into it. */
export function isSecret({ kind, isSecret: isMarked }: Field): boolean {
  return kind === 'secret' || isMarked === true;
}
