/**
 * The child process of `RealClickHouse`: all of `clickhouse-local`, with the engine's own HTTP
 * server. Arguments: the path of `libchdb`, then those of the program. What went wrong is printed.
 *
 * The call blocks until the program has nothing more to run.
 */
import { DataType, isNullPointer, type JsExternal, load, open, restorePointer } from 'ffi-rs'

const LIBRARY = 'chdb'
const [path = '', ...args] = process.argv.slice(2)
const argv = ['clickhouse', ...args]
open({ library: LIBRARY, path })
const result: JsExternal = load({
  library: LIBRARY,
  funcName: 'chdb_query_cmdline',
  retType: DataType.External,
  paramsType: [DataType.I32, DataType.StringArray],
  paramsValue: [argv.length, argv],
})
const error: JsExternal = load({
  library: LIBRARY,
  funcName: 'chdb_result_error',
  retType: DataType.External,
  paramsType: [DataType.External],
  paramsValue: [result],
})
if (isNullPointer(error)) process.exit(0)
const [text] = restorePointer({ retType: [DataType.String], paramsValue: [error] })
process.stderr.write(String(text))
process.exit(1)
