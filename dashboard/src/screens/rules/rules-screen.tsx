import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import ShieldCheck from 'lucide-react/icons/shield-check';
import { apiUrl, type Collection } from '../../api/client.ts';
import { collectionsQuery } from '../../api/collections.ts';
import { type RuleName, ruleKind, ruleNames, rulesOf, ruleTitles } from '../../api/definitions.ts';
import { Bar } from '../../parts/bar.tsx';
import { CollectionIcon } from '../../parts/collection-icon.tsx';
import { Empty, LinkButton } from '../../parts/empty.tsx';
import { FailureNotice } from '../../parts/notice.tsx';
import { PlaceholderLines } from '../../parts/placeholder-lines.tsx';
import { SystemSwitch } from '../../parts/system-switch.tsx';
import { RuleMark, ruleKindNames } from '../../parts/rule-mark.tsx';

const route = getRouteApi('/shell/rules');

/** All rules of all collections at a glance: what is open to whom. Each leads to where it is changed. */
export function RulesScreen() {
  const { system } = route.useSearch();
  const navigate = route.useNavigate();
  const { data: collections, error, refetch } = useQuery(collectionsQuery);
  const shown = collections?.filter((one) => system === 'shown' || !one.system);
  return (
    <>
      <Bar title="Rules">
        <SystemSwitch
          isOn={system === 'shown'}
          onChange={(isOn) => void navigate({ search: isOn ? { system: 'shown' } : {}, replace: true })}
        />
      </Bar>
      {error !== null && <FailureNotice error={error} onRetry={() => void refetch()} />}
      {shown === undefined && error === null && <PlaceholderLines count={6} />}
      {shown !== undefined && shown.length === 0 && <NoRules />}
      {shown !== undefined && shown.length > 0 && (
        <div className="schema-scroll" tabIndex={-1}>
          <div className="page" data-wide="">
            <Legend />
            <RuleGrid collections={shown} />
          </div>
        </div>
      )}
    </>
  );
}

function Legend() {
  return (
    <ul className="rules-legend" aria-label="Legend">
      {(['public', 'signedIn', 'expression', 'locked'] as const).map((kind) => (
        <li key={kind}>
          <RuleMark kind={kind} />
          {ruleKindNames[kind]}
        </li>
      ))}
    </ul>
  );
}

function RuleGrid({ collections }: { readonly collections: readonly Collection[] }) {
  return (
    <div className="rules-frame" tabIndex={0} role="region" aria-label="Rules by collection">
      <table className="rules-grid">
        <thead>
          <tr>
            <th scope="col">Collection</th>
            {ruleNames.map((name) => (
              <th scope="col" key={name}>
                {ruleTitles[name]}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {collections.map((collection) => (
            <tr key={collection.id}>
              <th scope="row">
                <Link to="/c/$collection/schema" params={{ collection: collection.name }}>
                  <CollectionIcon collection={collection} />
                  <span className="cut">{collection.name}</span>
                </Link>
              </th>
              {ruleNames.map((name) => (
                <td key={name}>
                  {rulesOf(collection).includes(name) && <RuleCell collection={collection} name={name} />}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function RuleCell({ collection, name }: { readonly collection: Collection; readonly name: RuleName }) {
  const rule = collection[name] ?? null;
  const kind = ruleKind(rule);
  const isNobody = name === 'authRule' && kind === 'locked';
  const text = kind === 'expression' ? (rule ?? '') : isNobody ? 'Nobody' : ruleKindNames[kind];
  return (
    <Link
      to="/c/$collection/schema"
      params={{ collection: collection.name }}
      search={{ rule: name }}
      className="rules-cell"
      data-kind={kind}
      title={text}
      aria-label={`${collection.name}, ${ruleTitles[name]}: ${text}`}
    >
      <RuleMark kind={kind} />
      <span className={kind === 'expression' ? 'mono cut' : 'cut'}>{text}</span>
    </Link>
  );
}

function NoRules() {
  return (
    <Empty
      icon={ShieldCheck}
      title="No collections, no rules"
      actions={
        <LinkButton link={{ to: '/new-collection' }} tone="primary">
          New collection
        </LinkButton>
      }
      code={`curl ${apiUrl}/api/collections -H "Authorization: $TOKEN"`}
    >
      Rules control access to records.
    </Empty>
  );
}
