internal import TransferModel

/// What the store's documents are likely to say, the likeliest last: the dictionary with which they are compressed.
///
/// Documents that were compressed with one are read with it for ever: it is never changed. Another one comes with another format of what is
/// sealed (`SecretBox`).
enum DocumentDictionary {
  /// The text behind tables of how often each byte and each length stands in a document (RFC 8878 §5): no document has to bring its own.
  /// With the text alone, compression takes twice the time, and a fifth more room.
  static let bytes = tables + Array(text.utf8)

  // By Benchmarks/measuring/dictionary.py.
  private static let tables: [UInt8] = {
    let text = """
      N6Qw7AEAAAAsENCSpAP//////4PAchC7mrV2+/FLuSXgt+YcHOs5UqaUkkwpJUmMbb84MAITBAAAAB3CgRKxuOoDAASAQ4gEhI8S\
      igkGBQ4FBwYVDSGBWAwQjghhKA5jOIaCSBYhQUBaGAAAAFRTdQIhjkEYg0hEEYkAAA4cAAMAAAABAAAABAAAAAgAAAA=
      """
    guard let tables = Base64.decode(text) else { preconditionFailure("the tables are base64") }
    return tables
  }()

  private static let text = #"""
    {"v":1,"type":"default","configuration":{"requestCachePolicy":"useProtocolCachePolicy",\#
    "timeoutIntervalForRequest":60,"timeoutIntervalForResource":604800,"httpMaximumConnectionsPerHost":6,\#
    "httpShouldUsePipelining":false,"httpShouldSetCookies":true,\#
    "httpCookieAcceptPolicy":"onlyFromMainDocumentDomain","tlsMinimumSupportedProtocolVersion":"TLSv1.2",\#
    "tlsMaximumSupportedProtocolVersion":"TLSv1.3",\#
    "urlCache":{"memoryCapacity":4194304,"diskCapacity":20971520},"urlCredentialStorage":true,\#
    "waitsForConnectivity":false,"allowsInsecureRedirects":false,"isDiscretionary":false,\#
    "sessionSendsLaunchEvents":true,"bodyRetention":86400},\#
    "delegate":{"sessionChallenges":"ask","taskChallenges":"ask","asksForRedirects":true,\#
    "asksForResponses":true,"decisionTimeout":60,"webhook":{"url":"https://","secret":"whsec_"},\#
    "events":["task.didComplete"]},"tenant":"default"}
    "protectionSpace":{"host":"www.example.com","port":443,"protocol":"https","realm":null,\#
    "authenticationMethod":"NSURLAuthenticationMethodServerTrust","isProxy":false},\#
    "proposedCredential":null,"previousFailureCount":0,"failureResponse":null,\#
    "decisionId":"dec_01900000-0000-7000-8000-000000000000","expiresAt":"2026-11-01T00:00:00.000Z",\#
    "default":"performDefaultHandling"
    "type":"session.didReceiveChallenge",
    "type":"task.didReceiveChallenge",
    "type":"task.willPerformHTTPRedirection",
    "type":"task.isWaitingForConnectivity",
    "type":"downloadTask.didResumeAtOffset",
    "type":"session.didFinishEvents",
    "type":"session.didBecomeInvalid",
    id: 10
    event: task.didChangeState
    data: {"id":10,"type":"task.didChangeState","time":"2026-11-01T00:00:00.000Z",\#
    "sessionId":"ses_01900000-0000-7000-8000-000000000000",\#
    "taskId":"tsk_01900000-0000-7000-8000-000000000000","data":{"state":"running",\#
    "phase":"waitingForDecision"}}


    id: 10
    event: task.didChangeState
    data: {"id":10,"type":"task.didChangeState","time":"2026-11-01T00:00:00.000Z",\#
    "sessionId":"ses_01900000-0000-7000-8000-000000000000",\#
    "taskId":"tsk_01900000-0000-7000-8000-000000000000","data":{"state":"suspended","phase":null}}


    id: 10
    event: task.didChangeState
    data: {"id":10,"type":"task.didChangeState","time":"2026-11-01T00:00:00.000Z",\#
    "sessionId":"ses_01900000-0000-7000-8000-000000000000",\#
    "taskId":"tsk_01900000-0000-7000-8000-000000000000","data":{"state":"canceling",\#
    "phase":"waitingToRetry"}}


    id: 10
    event: task.didComplete
    data: {"id":10,"type":"task.didComplete","time":"2026-11-01T00:00:00.000Z",\#
    "sessionId":"ses_01900000-0000-7000-8000-000000000000",\#
    "taskId":"tsk_01900000-0000-7000-8000-000000000000","data":{"error":{"domain":"NSURLErrorDomain",\#
    "code":-1005,"name":"networkConnectionLost","message":"could not connect to the host",\#
    "failingURL":"https://www.example.com/","resumeDataAvailable":false,"underlying":{"library":"libcurl",\#
    "code":7}},"status":null,"body":null}}


    {"type":"task.didComplete","timestamp":"2026-11-01T00:00:00.000Z","data":{"id":10,
    {"id":"tsk_01900000-0000-7000-8000-000000000000","sessionId":"ses_01900000-0000-7000-8000-000000000000",\#
    "taskIdentifier":1,"kind":"upload","state":"running","phase":"queued","description":null,"priority":0.5,\#
    "earliestBeginDate":null,"maximumBytesPerSecond":null,"countOfBytesClientExpectsToSend":-1,\#
    "countOfBytesClientExpectsToReceive":-1,"prefersIncrementalDelivery":true,\#
    "originalRequest":{"url":"https://www.example.com/","method":"GET","headers":{}},\#
    "currentRequest":{"url":"https://www.example.com/","method":"GET","headers":{}},"response":null,\#
    "progress":{"countOfBytesSent":0,"countOfBytesExpectedToSend":0,"countOfBytesReceived":0,\#
    "countOfBytesExpectedToReceive":-1,"fractionCompleted":null},"error":null,"body":null,"retryCount":0,\#
    "completion":null,"delegate":null,"createdAt":"2026-11-01T00:00:00.000Z","startedAt":null,\#
    "completedAt":null}
    id: 10
    event: dataTask.didReceiveResponse
    data: {"id":10,"type":"dataTask.didReceiveResponse","time":"2026-11-01T00:00:00.000Z",\#
    "sessionId":"ses_01900000-0000-7000-8000-000000000000",\#
    "taskId":"tsk_01900000-0000-7000-8000-000000000000",\#
    "data":{"response":{"url":"https://www.example.com/","status":200,"headers":{"Server":"nginx",\#
    "Date":"Sun, 01 Nov 2026 00:00:00 GMT","Content-Type":"application/octet-stream",\#
    "Content-Length":"1024","Last-Modified":"Sun, 01 Nov 2026 00:00:00 GMT","Connection":"keep-alive",\#
    "ETag":"\"00000000-400\"","Accept-Ranges":"bytes"},"mimeType":"application/octet-stream",\#
    "textEncodingName":null,"suggestedFilename":"","expectedContentLength":1024,"httpVersion":"HTTP/1.1",\#
    "fromCache":false}}}


    id: 10
    event: dataTask.willCacheResponse
    data: {"id":10,"type":"dataTask.willCacheResponse","time":"2026-11-01T00:00:00.000Z",\#
    "sessionId":"ses_01900000-0000-7000-8000-000000000000",\#
    "taskId":"tsk_01900000-0000-7000-8000-000000000000","data":{"response":{"url":"https://www.,\#
    "countOfBytes":1024,"storagePolicy":"allowed"}}


    {"v":1,"request":{"url":"https://www.example.com/","method":"PUT","headers":["Authorization","Bearer ",\#
    "Accept","*/*","Content-Type","application/json"],"body":{"size":0}},"description":"",\#
    "completion":{"url":"https://","secret":"whsec_"}}
    {"v":1,"request":{"url":"https://www.example.com/","method":"GET","timeoutInterval":60}}
    {"v":1,"error":{"url":-1004,"message":"could not connect to the host",\#
    "failingURL":"https://www.example.com/","underlying":{"library":"libcurl","code":7}},\#
    "startedAt":1793491200000000,"completedAt":1793491200000000}
    {"v":1,"response":{"url":"https://www.example.com/","status":200,"headers":["Server","nginx",\#
    "Date","Sun, 01 Nov 2026 00:00:00 GMT","Content-Type","application/octet-stream",\#
    "Content-Length","1024","Last-Modified","Sun, 01 Nov 2026 00:00:00 GMT","Connection","keep-alive",\#
    "ETag","\"00000000-400\"","Accept-Ranges","bytes"],"expectedContentLength":1024,\#
    "httpVersion":"HTTP/1.1"},"received":1024,"expected":1024,\#
    "startedAt":1793491200000000,"completedAt":1793491200000000,"body":{"size":1024,\#
    "sha256":"0000000000000000000000000000000000000000000000000000000000000000",\#
    "expiresAt":1793577600000000}}
    {"taskInterval":{"start":"2026-11-01T00:00:00.000Z","end":"2026-11-01T00:00:00.000Z","duration":0.00},\#
    "redirectCount":0,"transactionMetrics":[{"request":{"url":"https://www.example.com/","method":"GET"},\#
    "response":{"status":200},"fetchStartDate":"2026-11-01T00:00:00.000Z",\#
    "domainLookupStartDate":"2026-11-01T00:00:00.000Z","domainLookupEndDate":"2026-11-01T00:00:00.000Z",\#
    "connectStartDate":"2026-11-01T00:00:00.000Z","secureConnectionStartDate":"2026-11-01T00:00:00.000Z",\#
    "secureConnectionEndDate":"2026-11-01T00:00:00.000Z","connectEndDate":"2026-11-01T00:00:00.000Z",\#
    "requestStartDate":"2026-11-01T00:00:00.000Z","requestEndDate":"2026-11-01T00:00:00.000Z",\#
    "responseStartDate":"2026-11-01T00:00:00.000Z","responseEndDate":"2026-11-01T00:00:00.000Z",\#
    "networkProtocolName":"http/1.1","resourceFetchType":"networkLoad","isReusedConnection":true,\#
    "isProxyConnection":false,"localAddress":"127.0.0.1","localPort":40000,"remoteAddress":"127.0.0.1",\#
    "remotePort":443,"negotiatedTLSProtocolVersion":"TLSv1.3",\#
    "negotiatedTLSCipherSuite":"TLS_AES_256_GCM_SHA384","isCellular":false,"isExpensive":false,\#
    "isConstrained":false,"isMultipath":false,"domainResolutionProtocol":"unknown",\#
    "countOfRequestHeaderBytesSent":100,"countOfRequestBodyBytesSent":0,\#
    "countOfRequestBodyBytesBeforeEncoding":0,"countOfResponseHeaderBytesReceived":200,\#
    "countOfResponseBodyBytesReceived":1024,"countOfResponseBodyBytesAfterDecoding":1024}]}
    id: 10
    event: task.didCreate
    data: {"id":10,"type":"task.didCreate","time":"2026-11-01T00:00:00.000Z",\#
    "sessionId":"ses_01900000-0000-7000-8000-000000000000",\#
    "taskId":"tsk_01900000-0000-7000-8000-000000000000","data":{"kind":"data","taskIdentifier":10,\#
    "url":"https://www.example.com/","method":"GET","description":null}}


    id: 10
    event: task.didCreate
    data: {"id":10,"type":"task.didCreate","time":"2026-11-01T00:00:00.000Z",\#
    "sessionId":"ses_01900000-0000-7000-8000-000000000000",\#
    "taskId":"tsk_01900000-0000-7000-8000-000000000000","data":{"kind":"download","taskIdentifier":10,\#
    "url":"http://www.example.com/","method":"GET","description":null}}


    id: 11
    event: task.didChangeState
    data: {"id":11,"type":"task.didChangeState","time":"2026-11-01T00:00:00.000Z",\#
    "sessionId":"ses_01900000-0000-7000-8000-000000000000",\#
    "taskId":"tsk_01900000-0000-7000-8000-000000000000","data":{"state":"running","phase":"queued"}}


    id: 12
    event: task.didChangeState
    data: {"id":12,"type":"task.didChangeState","time":"2026-11-01T00:00:00.000Z",\#
    "sessionId":"ses_01900000-0000-7000-8000-000000000000",\#
    "taskId":"tsk_01900000-0000-7000-8000-000000000000","data":{"state":"running","phase":"transferring"}}


    id: 13
    event: downloadTask.didFinishDownloading
    data: {"id":13,"type":"downloadTask.didFinishDownloading","time":"2026-11-01T00:00:00.000Z",\#
    "sessionId":"ses_01900000-0000-7000-8000-000000000000",\#
    "taskId":"tsk_01900000-0000-7000-8000-000000000000","data":{"body":{"size":1024,\#
    "sha256":"0000000000000000000000000000000000000000000000000000000000000000",\#
    "expiresAt":"2026-11-02T00:00:00.000Z"},"suggestedFilename":""}}


    id: 14
    event: task.didFinishCollectingMetrics
    data: {"id":14,"type":"task.didFinishCollectingMetrics","time":"2026-11-01T00:00:00.000Z",\#
    "sessionId":"ses_01900000-0000-7000-8000-000000000000",\#
    "taskId":"tsk_01900000-0000-7000-8000-000000000000",\#
    "data":{"metrics":{"taskInterval":{"start":"2026-11-01T00:00:00.000Z","end":"2026-11-01T00:00:00.000Z",\#
    "duration":0.00},"redirectCount":0,"transactionMetrics":[{"request":{"url":"https://www.example.com/",\#
    "method":"GET"},"response":{"status":200},"fetchStartDate":"2026-11-01T00:00:00.000Z",\#
    "domainLookupStartDate":"2026-11-01T00:00:00.000Z","domainLookupEndDate":"2026-11-01T00:00:00.000Z",\#
    "connectStartDate":"2026-11-01T00:00:00.000Z","secureConnectionStartDate":"2026-11-01T00:00:00.000Z",\#
    "secureConnectionEndDate":"2026-11-01T00:00:00.000Z","connectEndDate":"2026-11-01T00:00:00.000Z",\#
    "requestStartDate":"2026-11-01T00:00:00.000Z","requestEndDate":"2026-11-01T00:00:00.000Z",\#
    "responseStartDate":"2026-11-01T00:00:00.000Z","responseEndDate":"2026-11-01T00:00:00.000Z",\#
    "networkProtocolName":"http/1.1","resourceFetchType":"networkLoad","isReusedConnection":true,\#
    "isProxyConnection":false,"localAddress":"127.0.0.1","localPort":40000,"remoteAddress":"127.0.0.1",\#
    "remotePort":443,"negotiatedTLSProtocolVersion":"TLSv1.3",\#
    "negotiatedTLSCipherSuite":"TLS_AES_256_GCM_SHA384","isCellular":false,"isExpensive":false,\#
    "isConstrained":false,"isMultipath":false,"domainResolutionProtocol":"unknown",\#
    "countOfRequestHeaderBytesSent":100,"countOfRequestBodyBytesSent":0,\#
    "countOfRequestBodyBytesBeforeEncoding":0,"countOfResponseHeaderBytesReceived":200,\#
    "countOfResponseBodyBytesReceived":1024,"countOfResponseBodyBytesAfterDecoding":1024}]}}}


    id: 15
    event: task.didComplete
    data: {"id":15,"type":"task.didComplete","time":"2026-11-01T00:00:00.000Z",\#
    "sessionId":"ses_01900000-0000-7000-8000-000000000000",\#
    "taskId":"tsk_01900000-0000-7000-8000-000000000000","data":{"error":null,"status":200,\#
    "body":{"size":1024,"sha256":"0000000000000000000000000000000000000000000000000000000000000000",\#
    "expiresAt":"2026-11-02T00:00:00.000Z"}}}


    """#
}
