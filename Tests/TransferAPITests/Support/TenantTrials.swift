import Testing
import Yams

@testable import TransferAPI

/// An operation of `openapi.yaml`.
struct Operation: Sendable, CustomTestStringConvertible {
  let id: String
  let method: String
  let path: String
  /// Whether the operation accepts an `Idempotency-Key`.
  let takesKey: Bool

  var testDescription: String { id }

  /// The parameters of its path, apart from the names of problems.
  var names: [String] {
    path.split(separator: "/").filter { $0.hasPrefix("{") && $0 != "{problem}" }.map {
      String($0.dropFirst().dropLast())
    }
  }

  var isList: Bool { if case .list = IsolationCase.all[id] { true } else { false } }
  var isStream: Bool { if case .stream = IsolationCase.all[id] { true } else { false } }

  func target(_ ids: [String: String]) -> String {
    ids.reduce(path) { $0.replacing("{\($1.key)}", with: $1.value) }
  }

  static let all: [Operation] = {
    let text = String(decoding: PackageResources.openapi_yaml, as: UTF8.self)
    let document = (try? Yams.load(yaml: text)) as? [String: Any]
    let paths = document?["paths"] as? [String: [String: Any]] ?? [:]
    return paths.flatMap { path, item in
      ["get", "post", "put", "patch", "delete"].compactMap { method in
        guard let operation = item[method] as? [String: Any] else { return nil }
        let parameters = operation["parameters"] as? [[String: Any]] ?? []
        return Operation(
          id: operation["operationId"] as? String ?? "\(method) \(path)", method: method.uppercased(),
          path: path,
          takesKey: parameters.contains { ($0["$ref"] as? String)?.hasSuffix("/IdempotencyKey") == true })
      }
    }.sorted { $0.id < $1.id }
  }()
}

/// The test that shows an operation's isolation between two tenants.
enum IsolationCase: Sendable {
  /// The operation returns nothing that belongs to a tenant.
  case nobodys
  /// The path names a resource, which other tenants do not find.
  /// - Parameters:
  ///   - body: The request body with which the owner succeeds.
  ///   - others: The status that other tenants get, which is not 404 if the operation creates a resource of their
  ///     own.
  case named(InProcessAPI.Resource, body: String = "", type: String? = nil, others: Int = 404)
  /// The operation lists a tenant's resources.
  case list
  /// The operation streams the events of a tenant.
  case stream
  /// The operation creates a resource.
  case creation(body: String, type: String = "application/json")

  /// The trial of each operation. Every new operation needs an entry.
  static let all: [String: IsolationCase] = [
    "createSession": .creation(body: #"{"description":"MARK"}"#),
    "listSessions": .list,
    "getSession": .named(.session),
    "deleteSession": .named(.invalidSession),
    "invalidateSession": .named(.session, body: #"{"mode":"cancelTasks"}"#, type: json),
    "resetSession": .named(.session),
    "flushSession": .named(.session),
    "listCookies": .named(.session),
    "setCookies": .named(
      .session, body: #"{"name":"n","value":"v","domain":"a.test","path":"/"}"#, type: json),
    "deleteCookies": .named(.session),
    "getCache": .named(.session),
    "emptyCache": .named(.session),
    "listCredentials": .named(.session),
    "setCredential": .named(
      .session,
      body: #"""
        {"protectionSpace":{"host":"a.test","port":80,"protocol":"http"},"credential":{"user":"u","password":"p"}}
        """#, type: json),
    "deleteCredentials": .named(.session),
    "createConfiguration": .creation(body: #"{"name":"same","configuration":{}}"#),
    "listConfigurations": .list,
    "getConfiguration": .named(.configuration),
    "replaceConfiguration": .named(
      .configuration, body: #"{"timeoutIntervalForRequest":9}"#, type: json, others: 201),
    "deleteConfiguration": .named(.configuration),
    "probeOrigin": .nobodys,
    "createTask": .named(.session, body: task, type: json),
    "listTasks": .named(.session),
    "listAllTasks": .list,
    "listGroups": .list,
    "getGroup": .named(.group),
    "closeGroup": .named(.group),
    "cancelGroup": .named(.group),
    "suspendGroup": .named(.group),
    "resumeGroup": .named(.group),
    // `ManyTasksTests` shows that these change no task of another tenant.
    "cancelTasks": .nobodys,
    "suspendTasks": .nobodys,
    "resumeTasks": .nobodys,
    "deleteTasks": .nobodys,
    "retryTasks": .nobodys,
    "deleteTask": .named(.finishedTask),
    "createSharedTask": .creation(body: task),
    "getTask": .named(.suspendedTask),
    "updateTask": .named(.suspendedTask, body: #"{"priority":0.9}"#, type: "application/merge-patch+json"),
    "resumeTask": .named(.suspendedTask),
    "suspendTask": .named(.suspendedTask),
    "retryTask": .named(.partialDownload),
    "cancelTask": .named(.suspendedTask, body: #"{"producingResumeData":true}"#, type: json),
    "getResumeData": .named(.partialDownload),
    "getMetrics": .named(.finishedTask),
    "getBody": .named(.finishedTask),
    "sendBody": .named(.streamingTask, type: "application/octet-stream"),
    "deleteBody": .named(.finishedTask),
    "listDecisions": .named(.decision),
    "getDecision": .named(.decision),
    "answerDecision": .named(.decision, body: #"{"request":null}"#, type: json),
    "createFile": .creation(body: "", type: "text/plain"),
    "listFiles": .list,
    "getFile": .named(.file),
    "deleteFile": .named(.file),
    "createEndpoint": .creation(body: #"{"url":"http://a.test/MARK"}"#),
    "listEndpoints": .list,
    "getEndpoint": .named(.delivery),
    "updateEndpoint": .named(.delivery, body: #"{"description":"new"}"#, type: json),
    "deleteEndpoint": .named(.delivery),
    "rotateEndpointSecret": .named(.delivery, body: "{}", type: json),
    "testEndpoint": .named(.delivery),
    "listDeliveries": .list,
    "getDelivery": .named(.delivery),
    "redeliver": .named(.delivery),
    "redeliverMany": .creation(body: #"{"state":"failed"}"#),
    "streamEvents": .stream,
    "streamSessionEvents": .named(.session),
    "streamTaskEvents": .named(.suspendedTask),
    "getLiveness": .nobodys,
    "getReadiness": .nobodys,
    "getVersion": .nobodys,
    "getContract": .nobodys,
    "getProblemPage": .nobodys,
    "getContractInJSON": .nobodys,
    "getReference": .nobodys,
    "getDashboard": .nobodys,
    // `UsageRouteTests` shows that these count and show nothing of another tenant.
    "getUsage": .nobodys,
    "getSettings": .nobodys,
  ]

  private static let json = "application/json"
  private static let task = #"{"kind":"data","request":{"url":"http://127.0.0.1:9/"}}"#
}
