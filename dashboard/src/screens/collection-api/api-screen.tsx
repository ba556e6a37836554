import { getRouteApi } from '@tanstack/react-router';
import { useId, useState } from 'react';
import { apiUrl, type Collection } from '../../api/client.ts';
import { type RuleName, ruleKind } from '../../api/definitions.ts';
import { choicesOf } from '../../api/members-of.ts';
import { Code } from '../../parts/code.tsx';
import { CollectionPage } from '../../parts/collection-page.tsx';
import { CopyButton } from '../../parts/copy-button.tsx';
import { InputField, LabelledField } from '../../parts/labelled-field.tsx';
import { Segments } from '../../parts/radio-list.tsx';
import { RuleMark, ruleKindNames } from '../../parts/rule-mark.tsx';
import type { ApiSearch } from './api-search.ts';
import {
  exampleBody,
  type Language,
  type OperationInput,
  type OperationName,
  toRequest,
} from './operations.ts';
import { RealtimeRun } from './realtime-run.tsx';
import { RequestRun } from './request-run.tsx';
import { snippet } from './snippets.ts';
import { WebhookExamples } from './webhook-examples.tsx';

const route = getRouteApi('/shell/c/$collection/api');

/** The API of one collection: each operation in four languages, and run at once against this service. */
export function ApiScreen() {
  const { collection: name } = route.useParams();
  return (
    <CollectionPage name={name}>
      {(collection) => <Api key={collection.id} collection={collection} />}
    </CollectionPage>
  );
}

const operationTitles: Readonly<Record<OperationName, string>> = {
  list: 'List',
  view: 'View',
  create: 'Create',
  update: 'Update',
  delete: 'Delete',
  realtime: 'Realtime',
};

const languageTitles: Readonly<Record<Language, string>> = {
  curl: 'curl',
  js: 'JS SDK',
  fetch: 'fetch',
  python: 'Python',
};

const ruleOf: Readonly<Record<OperationName, RuleName>> = {
  list: 'listRule',
  view: 'viewRule',
  create: 'createRule',
  update: 'updateRule',
  delete: 'deleteRule',
  realtime: 'listRule',
};

function Api({ collection }: { readonly collection: Collection }) {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const { op = 'list', lang = 'curl' } = search;
  const set = (members: ApiSearch): void =>
    void navigate({ search: (before) => ({ ...before, ...members }), replace: true });
  return (
    <div className="schema-scroll" tabIndex={-1}>
      <div className="page">
        <div className="api-heads">
          <Segments
            label="Operation"
            value={op}
            choices={choicesOf(operationTitles)}
            onChange={(next) => set({ op: next })}
          />
          <Segments
            label="Language"
            value={lang}
            choices={choicesOf(languageTitles)}
            onChange={(next) => set({ lang: next })}
          />
        </div>
        <Operation key={op} collection={collection} operation={op} language={lang} />
        <WebhookExamples collection={collection.name} />
      </div>
    </div>
  );
}

interface OperationProps {
  readonly collection: Collection;
  readonly operation: OperationName;
  readonly language: Language;
}

function Operation({ collection, operation, language }: OperationProps) {
  const [input, setInput] = useState<OperationInput>({
    id: '',
    filter: '',
    sort: '',
    body: exampleBody(collection, operation === 'update'),
  });
  const request = toRequest(collection.name, operation, input);
  const { method, path } = request;
  const kind = ruleKind(collection[ruleOf[operation]]);
  const text = snippet(language, { apiUrl, collection: collection.name, operation, input, request });
  return (
    <>
      <div className="api-line">
        <span className="api-method" data-method={method}>
          {method}
        </span>
        <span className="mono api-path">{path}</span>
        <CopyButton text={apiUrl + path} label="Copy the URL" />
        <span className="api-rule soft">
          <RuleMark kind={kind} />
          {ruleKindNames[kind]}
        </span>
      </div>
      <Inputs operation={operation} input={input} onChange={setInput} />
      <Code text={text} />
      {operation === 'realtime' ? (
        <RealtimeRun collection={collection.name} />
      ) : (
        <RequestRun
          request={request}
          id={input.id}
          needsId={['view', 'update', 'delete'].includes(operation)}
        />
      )}
    </>
  );
}

interface InputsProps {
  readonly operation: OperationName;
  readonly input: OperationInput;
  readonly onChange: (input: OperationInput) => void;
}

function Inputs({ operation, input, onChange }: InputsProps) {
  const id = useId();
  const hasId = operation === 'view' || operation === 'update' || operation === 'delete';
  const hasBody = operation === 'create' || operation === 'update';
  const line = (name: 'id' | 'filter' | 'sort', label: string, placeholder: string) => (
    <InputField
      label={label}
      isMono
      value={input[name]}
      placeholder={placeholder}
      onText={(text) => onChange({ ...input, [name]: text })}
    />
  );
  return (
    <>
      {operation === 'list' && (
        <div className="schema-grid">
          {line('filter', 'Filter', "created > '2026-01-01'")}
          {line('sort', 'Sort', '-created')}
        </div>
      )}
      {hasId && line('id', 'Id of the record', 'RECORD_ID')}
      {hasBody && (
        <LabelledField id={`${id}-body`} label="Body, in JSON">
          <textarea
            id={`${id}-body`}
            className="input mono"
            value={input.body}
            spellCheck={false}
            onChange={(event) => onChange({ ...input, body: event.target.value })}
          />
        </LabelledField>
      )}
    </>
  );
}
