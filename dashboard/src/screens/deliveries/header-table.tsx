/** Headers in the order in which they come. Names and values are texts, whoever wrote them. */
export function HeaderTable({
  headers,
}: {
  readonly headers: readonly (readonly [name: string, value: string])[];
}) {
  return (
    <div className="panel header-table" tabIndex={0} role="group" aria-label="Headers">
      <table>
        <tbody>
          {headers.map(([name, value]) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td>{value}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
