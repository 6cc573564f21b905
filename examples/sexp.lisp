;;; A session over S-expressions: sbcl --script examples/sexp.lisp [nacre]
(defparameter *nacre* (or (second sb-ext:*posix-argv*) "nacre"))
(defparameter *server*
  (sb-ext:run-program *nacre* '("serve" "--sexp" "--workspace" ":memory:")
                      :search t :input :stream :output :stream :wait nil
                      :external-format :utf-8))

(defun call (&rest payload)
  "Sends a request and reads the event that answers it."
  (let ((out (sb-ext:process-input *server*)))
    (with-standard-io-syntax
      (format out "~s~%" (list :type :request :target :shell :payload payload)))
    (finish-output out)
    (let ((*read-eval* nil))
      (getf (read (sb-ext:process-output *server*)) :payload))))

(format t "mandate ~a~%" (subseq (getf (call :action :configure :allow '("echo" "cat")) :mandate-hash) 0 8))
(dolist (cmd '("echo hello > greeting" "cat greeting" "rm greeting" "cat greeting"))
  (let ((event (call :cmd cmd)))
    (format t "~(~a~) ~a ~a ~s~%" (getf event :decision) (getf event :exit-code)
            (subseq (getf event :fs-hash) 0 8) (getf event :stdout))))
(close (sb-ext:process-input *server*))
(sb-ext:process-wait *server*)
